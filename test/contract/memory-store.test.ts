import { describe } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { valueBoundsContract, variableStoreContract } from "./variable-store.ts";

describe("MemoryStore", () => {
  variableStoreContract((options) => new MemoryStore(options));
});

describe("MemoryStore", () => {
  valueBoundsContract((options) => new MemoryStore(options));
});
