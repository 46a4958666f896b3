import { describe } from "vitest";
import { type SharedStore, sharedStore } from "../../packages/gateway/src/cli/shared-store.ts";
import { variableStoreContract } from "./variable-store.ts";

describe("sharedStore", () => {
  const opened = new Map<object, SharedStore>();
  variableStoreContract(
    (options) => {
      const store = sharedStore(":memory:", options);
      opened.set(store, store);
      return store;
    },
    { dispose: (store) => opened.get(store)?.close() },
  );
});
