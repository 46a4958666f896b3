import { Holds } from "../../src/store/eviction.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import type { Change } from "../../src/store/variable.ts";

/**
 * Returns a store that keeps nothing in memory between calls, like an object that hibernates: it writes reads
 * back before it sleeps, and restores holds and observers when it wakes.
 */
export function wokenStore(wake: () => VariableStore): VariableStore {
  const holds = new KeptHolds();
  const observers = new Set<(change: Change) => void>();
  const wakeUp = () => {
    const store = wake();
    holds.holdIn(store.holds);
    for (const observer of observers) store.observe(observer);
    return store;
  };
  const observe: VariableStore["observe"] = (observer) => {
    observers.add(observer);
    return () => observers.delete(observer);
  };
  return new Proxy(wake(), {
    get(_, property) {
      if (property === "holds") return holds;
      if (property === "observe") return observe;
      const store = wakeUp();
      const method: unknown = Reflect.get(store, property);
      if (typeof method !== "function") return method;
      return (...given: unknown[]): unknown => {
        try {
          return Reflect.apply(method, store, given);
        } finally {
          store.flushAccess();
        }
      };
    },
  });
}

class KeptHolds extends Holds {
  readonly #held: { readonly owner: string; readonly name: string }[] = [];

  override hold(owner: string, name: string): void {
    super.hold(owner, name);
    this.#held.push({ owner, name });
  }

  override release(owner: string): void {
    super.release(owner);
    const kept = this.#held.filter((held) => held.owner !== owner);
    this.#held.splice(0, Infinity, ...kept);
  }

  holdIn(holds: Holds): void {
    for (const { owner, name } of this.#held) holds.hold(owner, name);
  }
}
