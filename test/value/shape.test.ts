import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Json } from "../../src/value/json.ts";
import { shapeOf } from "../../src/value/shape.ts";
import { anyJson } from "../support/json-values.ts";

function wide(keys: number, value: Json, name = "key"): Json {
  return Object.fromEntries(
    Array.from({ length: keys }, (_, index) => [`${name}_${index}`, value]),
  );
}

it.each<[Json, string]>([
  ["text", "string"],
  [72.5, "number"],
  [null, "null"],
  [{ id: 1, name: "a" }, "{id: number, name: string}"],
  [["a", "b"], "string[]"],
  [[[1, 2], [3]], "number[][]"],
  [[{ id: 1, name: "a", tags: ["x"] }], "{id: number, name: string, tags: string[]}[]"],
  [[], "unknown[]"],
  // A union has each type once, in order of appearance.
  [[1, "a"], "(number | string)[]"],
  [[null, { a: 1 }], "(null | {a: number})[]"],
  // Keys that are missing in some objects are marked.
  [[{ id: 1, note: "n" }, { id: 2 }], "{id: number, note?: string}[]"],
  [[{ id: 1 }, { id: 2, note: "n" }], "{id: number, note?: string}[]"],
  [
    { "feels like": 1, "": 2, "9": 3, 'a"b': 4 },
    '{"9": number, "feels like": number, "": number, "a\\"b": number}',
  ],
  [
    JSON.parse('{"__proto__": 1, "constructor": "x"}') as Json,
    "{__proto__: number, constructor: string}",
  ],
])("a shape of %j is %s", (value, shape) => {
  expect(shapeOf(value)).toBe(shape);
});

it("a shape that is too long shortens deep parts before keys at the top", () => {
  const value = { id: 1, data: wide(40, 1, "a_rather_long_key"), name: "x" };
  expect(shapeOf(value)).toBe("{id: number, data: {…}, name: string}");
});

it("a shape that is too long keeps whole keys, in order, and says that others are left out", () => {
  const shown = shapeOf(wide(200, 1)).slice(1, -1).split(", ");
  expect(shown.pop()).toBe("…");
  expect(shown.length).toBeGreaterThan(3);
  expect(shown).toEqual(shown.map((_, index) => `key_${index}: number`));
});

it("a shape that is too long is cut at a whole character if a single key is too long", () => {
  for (const pad of ["", "a"]) {
    const shape = shapeOf({ [pad + "😀".repeat(400)]: 1 });
    expect(shape.length).toBeLessThanOrEqual(limits.maxShapeChars);
    expect([shape.isWellFormed(), shape.endsWith("😀…")]).toEqual([true, true]);
  }
});

describe("every shape", () => {
  it("is the same for equal values, and for one row or many", () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 2, max: 5 }), (value, times) => {
        const rows = Array.from({ length: times }, () => structuredClone(value));
        expect(shapeOf(rows)).toBe(shapeOf([value]));
        expect(shapeOf(rows)).toMatch(/\[\]$|…$/);
      }),
    );
  });
});
