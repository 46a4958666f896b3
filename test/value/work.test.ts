import { describe, expect, it } from "vitest";
import { ByrefError } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { readPath } from "../../src/value/path.ts";
import { Work } from "../../src/value/work.ts";

const read = (value: Json, written: string, work?: Work) =>
  readPath(value, parsePath(written) ?? [], work);

/** Returns the amount of work that `use` spends. */
function workOf(use: (work: Work) => void): number {
  const work = new Work();
  use(work);
  let left = 0;
  for (let step = limits.maxReadWork; step >= 1; step /= 2) {
    const probe = new Work();
    use(probe);
    if (succeeds(() => probe.spend(left + step))) left += step;
  }
  return limits.maxReadWork - left;
}

function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof ByrefError && error.code === "limit_exceeded") return false;
    throw error;
  }
}

it("the work of reading is refused above its limit, and from then on", () => {
  const work = new Work();
  work.spend(limits.maxReadWork);
  expect(() => work.spend(1)).toThrow(/maxReadWork is at most 134217728, this is 134217729\./);
  expect(() => work.spend(0)).toThrow(/maxReadWork/);
});

it("the work of reading counts the elements that [*] visits, at every depth, as twenty characters each", () => {
  const rows = Array.from({ length: 10 }, () => ({ tags: ["a", "b", "c"] }));
  expect(workOf((work) => read(rows, "[*].tags[*]", work))).toBe(20 * (10 + 30));
  expect(workOf((work) => read({ a: 1, b: 2 }, "[*]", work))).toBe(1 + 2 + 20 * 2);
});

it("the work of reading counts the elements copied by each slice", () => {
  const list = Array.from({ length: 100 }, (_, index) => index);
  expect(workOf((work) => read(list, "[0:][10:][:5]", work))).toBe(100 + 90 + 5 + 3 * 20);
  expect(workOf((work) => read("x".repeat(100), "[10:20]", work))).toBe(10 + 20 + 20);
  expect(workOf((work) => read("x".repeat(100), "[-5:]", work))).toBe(5 + 20);
});

describe("the keys that a miss lists", () => {
  const value = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]));

  it("are the first thousand, and each of all costs ten characters", () => {
    const reading = read(value, ".a");
    expect(reading.found ? [] : reading.keys).toHaveLength(limits.maxItems);
    expect(workOf((work) => read(value, ".a", work))).toBe(1 + 10 * 5_000);
  });

  it("are not listed after too much work", () => {
    const work = new Work();
    work.spend(limits.maxReadWork);
    const unlisted = new Proxy(value, { ownKeys: () => expect.fail("It was listed.") });
    expect(() => read(unlisted, ".a", work)).toThrow(/maxReadWork/);
  });
});
