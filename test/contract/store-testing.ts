import { afterAll, beforeEach, describe, vi } from "vitest";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { Ground, KIB, MIB, type Options, type StoreKind, storeKinds } from "./store-fixture.ts";

/** The store of the test that runs. */
export interface Testing {
  readonly kind: StoreKind;
  /** Some of what a value may have: in the row, in a few chunks, in the bucket if there is one. */
  readonly sizes: readonly number[];
  ground: Ground;
  store: VariableStore;
  /** Another store, over SQL on the same ground, which is the one of the test from then on. */
  fresh(options?: Options): VariableStore;
  /** All new, with the clock at its start. */
  renew(): void;
}

/** A suite on every kind of store; each test has a ground and a store of its own. */
export function onEveryKind(suite: (at: Testing) => void): void {
  for (const kind of storeKinds) {
    describe(kind.title, () => {
      const sizes = kind.hasBucket ? [100 * KIB, 8 * MIB + 999] : [1_000, 2 * MIB + 999];
      // The rest comes before each test.
      const at = { kind, sizes } as unknown as Testing;
      at.renew = () => {
        at.ground?.close();
        at.ground = new Ground(kind);
        at.store = at.ground.open();
      };
      at.fresh = (options) => {
        at.store = at.ground.open(options);
        return at.store;
      };
      beforeEach(() => at.renew());
      vi.setConfig({ testTimeout: 60_000 });
      afterAll(() => at.ground.close());
      suite(at);
    });
  }
}
