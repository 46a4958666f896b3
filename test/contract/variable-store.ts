import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { VariableStore } from "../../src/store/variables.ts";
import { type Fixture, iso, START_MS } from "./variable-store-fixture.ts";
import { tombstones } from "./variable-store-life.ts";
import { largeValues, values } from "./variable-store-values.ts";
import { slow } from "../support/slow.ts";

export interface StoreOptions {
  readonly now: () => number;
}

interface Subject {
  readonly dispose?: (store: VariableStore) => void;
}

/** Tests the empty stores that `make` returns. */
export type StoreContract = (
  make: (options: StoreOptions) => VariableStore | Promise<VariableStore>,
  subject?: Subject,
) => void;

/** What every implementation keeps beyond the model of `variable-store-model.test.ts`, which has the rules. */
export const variableStoreContract: StoreContract = (make, subject = {}) => {
  const { dispose = () => {} } = subject;
  // The store is set before each test.
  const at = { nowMs: START_MS } as Fixture;
  beforeEach(async () => {
    at.nowMs = START_MS;
    at.store = await make({ now: () => at.nowMs });
  });
  afterEach(() => dispose(at.store));
  describe("saving and reading", () => savingAndReading(at));
  describe("automatic names", () => automaticNames(at));
  describe("values", () => values(at));
  describe("large values", slow, () => largeValues(at));
  describe("tombstones", () => tombstones(at));
};

function savingAndReading(at: Fixture): void {
  it("returns all that was written, with the same info from save, info and list", async () => {
    const provenance = {
      description: "Of today",
      tool: "t",
      toolCallId: "c",
      input: { a: ["$b"] },
    };
    const write = { name: "a", value: [1, "é"], ttlMs: 5, pinned: true, ...provenance };
    const { shape, preview, ...rest } = await at.store.save(write);
    expect({ shape, preview }).toEqual({ shape: "(number | string)[]", preview: '[1,"é"]' });
    const [createdAt, expiresAt] = [iso(START_MS), iso(START_MS + 5)];
    const size = { type: "array", count: 2, bytes: 8, chars: 7, location: "row" };
    const kind = { mediaType: "application/json", scope: "conversation", visibility: "model" };
    const times = { createdAt, updatedAt: createdAt, accessedAt: createdAt, expiresAt };
    const asked = { name: "a", pinned: true, ...provenance };
    const origin = { sources: ["tool:t"], trusted: true, version: 1 };
    expect(rest).toEqual({ ...asked, ...size, ...kind, ...times, ...origin });
    expect(at.store.info("a")).toStrictEqual({ shape, preview, ...rest });
    expect(at.store.list()).toStrictEqual([{ shape, preview, ...rest }]);
  });
}

/** The rules of automatic names are in the model. */
function automaticNames(at: Fixture): void {
  it.each(Array.from({ length: 11 }, (_, index) => "9".repeat(index + 1)))(
    "overwrite nothing and stay valid after a caller took number %s",
    async (number) => {
      for (const base of ["w", "x".repeat(52)]) {
        await at.store.save({ name: `${base}_${number}`, value: "by hand" });
        const names = new Set([`${base}_${number}`]);
        for (const inputDigest of "abc") {
          const name = { base, numbered: true, inputDigest };
          names.add((await at.store.save({ value: 1, tool: "t", name })).name);
        }
        expect(names.size).toBe(4);
        for (const name of names) expect(name).toMatch(/^\w{1,64}$/);
        expect(await at.store.read(`${base}_${number}`)).toBe("by hand");
      }
    },
  );
}
