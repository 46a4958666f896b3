import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { charsOf } from "../../src/value/json-text.ts";

const large: readonly (readonly [string, Json])[] = [
  ["records", Array.from({ length: 5_000 }, (_, id) => ({ id, text: `"row" ${id}`, tags: [] }))],
  ["numbers and half surrogate pairs", [1 / 7, "\ud83d".repeat(100_000)]],
  ["an object of large values", { a: ["x".repeat(200_000)], "b\n": { c: "y".repeat(200_000) } }],
  ["lists in lists", [[], {}, [[["z".repeat(65_537)]]], null, true]],
];

it("the size of a value as text is computed without serializing it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      expect(charsOf(value as Json, Infinity)).toBe(text.length);
    }),
  );
  for (const [, value] of large) {
    expect(charsOf(value, Infinity)).toBe(JSON.stringify(value).length);
  }
});

it("the size of a value as text is computed only up to the given bound", () => {
  const seen: string[] = [];
  const value = new Proxy<Json[]>(
    Array.from({ length: 1_000 }, () => 12_345),
    {
      get(target, key) {
        seen.push(String(key));
        return Reflect.get(target, key);
      },
    },
  );
  expect(charsOf(value, 2_000)).toBeGreaterThan(2_000);
  expect(seen.length).toBeLessThan(600);
});
