import { Taint, type VariableStore } from "../../../../src/internal.ts";

/** Maximum of evictions per call. The next call evicts the rest. */
const MAX_EVICTIONS = 1_000;

/** Evicts what is due from the store of a call. Without an alarm, that happens at the next call. */
export async function evictDue(store: VariableStore): Promise<void> {
  store.evictDue(Date.now(), MAX_EVICTIONS);
  if (store.hasGarbage()) await store.sweep();
}

/** One taint for each store. It persists: data read once in a conversation stays in its prompts. */
export class Taints {
  readonly #byStore = new WeakMap<VariableStore, Taint>();

  of(store: VariableStore): Taint {
    const taint = this.#byStore.get(store) ?? new Taint();
    this.#byStore.set(store, taint);
    return taint;
  }
}
