import { describe } from "vitest";
import { sqliteStore, type StoreOnDisk } from "../../packages/adapters/src/agent.ts";
import { variableStoreContract } from "./variable-store.ts";

describe("sqliteStore", () => {
  const opened = new Map<object, StoreOnDisk>();
  variableStoreContract(
    (options) => {
      const store = sqliteStore(":memory:", options);
      opened.set(store, store);
      return store;
    },
    { dispose: (store) => opened.get(store)?.close() },
  );
});
