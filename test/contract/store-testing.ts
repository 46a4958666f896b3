import { afterAll, beforeEach, describe } from "vitest";
import type { VariableStore } from "../../src/store/variables.ts";
import { sampleStep } from "../support/slow.ts";
import { Ground, KIB, MIB, type Options, type StoreKind, storeKinds } from "./store-fixture.ts";

/** The store of the current test. */
export interface Testing {
  readonly kind: StoreKind;
  /** Sizes of values that are stored in different places: in the row, in a few chunks, or in the bucket. */
  readonly sizes: readonly number[];
  ground: Ground;
  store: VariableStore;
  /** Replaces the test's store by another one. Over SQL, it has the same rows. */
  fresh(options?: Options): VariableStore;
  /** Replaces everything, with the clock at its start. */
  renew(): void;
}

/**
 * A shortened run of megabytes is one on SQL with a bucket, where values have the most places. `npm test` runs the
 * contract on every kind.
 */
export const sampledKinds = storeKinds.filter(({ hasBucket }) => sampleStep === 1 || hasBucket);

/** Runs a suite on every kind of store. Each test has its own ground and store. */
export function onEveryKind(suite: (at: Testing) => void, kinds = storeKinds): void {
  for (const kind of kinds) {
    describe(kind.title, () => {
      const sizes = kind.hasBucket ? [100 * KIB, 8 * MIB + 999] : [1_000, 2 * MIB + 999];
      // The rest is set before each test.
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
      afterAll(() => at.ground.close());
      suite(at);
    });
  }
}
