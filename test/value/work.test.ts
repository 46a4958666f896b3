import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { readPath } from "../../src/value/path.ts";
import { Work } from "../../src/value/work.ts";

const read = (value: Json, written: string, work?: Work) =>
  readPath(value, parsePath(written) ?? [], work);

it("the work of reading is refused above its limit, and from then on", () => {
  const work = new Work();
  work.spend(limits.maxReadWork);
  expect(() => work.spend(1)).toThrow(/maxReadWork is at most 134217728, this is 134217729\./);
  expect(() => work.spend(0)).toThrow(/maxReadWork/);
});

it.each([
  ["[*].tags[*]", 20 * (10 + 30)],
  ["[0:][:5]", 10 + 5 + 2 * 20],
])("the work of reading counts what %s visits and copies", (written, cost) => {
  const rows = Array.from({ length: 10 }, () => ({ tags: ["a", "b", "c"] }));
  for (const spare of [0, 1]) {
    const work = new Work();
    work.spend(limits.maxReadWork - cost + spare);
    if (spare === 0) expect(read(rows, written, work).found).toBe(true);
    else expect(() => read(rows, written, work)).toThrow(/maxReadWork/);
  }
});

describe("the keys that a miss lists", () => {
  const value = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]));

  it("are the first thousand", () => {
    const reading = read(value, ".a");
    expect(reading.found ? [] : reading.keys).toHaveLength(limits.maxItems);
  });

  it("are not listed after too much work", () => {
    const work = new Work();
    work.spend(limits.maxReadWork);
    const unlisted = new Proxy(value, { ownKeys: () => expect.fail("It was listed.") });
    expect(() => read(unlisted, ".a", work)).toThrow(/maxReadWork/);
  });
});
