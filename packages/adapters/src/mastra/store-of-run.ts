import { evictDue } from "../agent/call-store.ts";
import type { ToolsFor } from "./mastra-agent.ts";
import { json, MemoryStore, Recent, type VariableStore } from "../../../../src/internal.ts";
import type { Run } from "./run.ts";

/** The run that needs a store. The ids of its memory are those that Mastra has checked. */
export interface StoredRun {
  readonly runId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
}

/** Finds the store of a run. */
export type StoreForRun = (run: StoredRun) => VariableStore;

/** Key in the `RequestContext` for the store of a call. */
export const STORE_KEY = "byref.store";

/** The stores of an agent's runs: given ones, else one for each memory thread, else one for each run. */
export class Stores {
  readonly #given: VariableStore | StoreForRun | undefined;
  readonly #threads = new Recent<VariableStore>();

  constructor(given: VariableStore | StoreForRun | undefined) {
    this.#given = given;
  }

  /** Opens the store of a run. */
  async open(run: Run, given: ToolsFor): Promise<VariableStore> {
    const store = this.#find(run, given);
    await evictDue(store);
    return store;
  }

  #find({ id, knownStore }: Run, given: ToolsFor): VariableStore {
    const { threadId, resourceId, requestContext } = given;
    const own: unknown = requestContext.get(STORE_KEY);
    if (isStore(own)) return own;
    // A request context that was stored while its run waited has lost the store.
    if (own !== undefined && knownStore === undefined) {
      throw new TypeError(`"${STORE_KEY}" in the request context is not a VariableStore.`);
    }
    if (typeof this.#given === "object") return this.#given;
    if (this.#given !== undefined) {
      return this.#given({ runId: id, ...json.compact({ threadId, resourceId }) });
    }
    if (knownStore !== undefined) return knownStore;
    const make = () => new MemoryStore();
    return threadId === undefined
      ? make()
      : this.#threads.use(JSON.stringify([resourceId, threadId]), make);
  }
}

/** A client may set values of the request context, but no functions. */
function isStore(value: unknown): value is VariableStore {
  return json.isObject(value) && typeof value.evictDue === "function";
}
