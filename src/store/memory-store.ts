import { MemoryRows } from "./rows/memory-rows.ts";
import { type StoreOptions, Variables } from "./variables.ts";

/** Variables in this process's memory: for Node, for tests, for `withToolVariables`. */
export class MemoryStore extends Variables {
  constructor(options: StoreOptions = {}) {
    super(new MemoryRows(), options);
  }
}
