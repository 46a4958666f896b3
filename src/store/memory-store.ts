import { MemoryRows } from "./rows/memory-rows.ts";
import { type StoreOptions, VariableStore } from "./variables.ts";

/** Variables in the memory of this process: for Node, tests and `withToolVariables`. */
export class MemoryStore extends VariableStore {
  constructor(options: StoreOptions = {}) {
    super(new MemoryRows(), options);
  }
}
