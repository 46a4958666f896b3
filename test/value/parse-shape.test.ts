import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { parseShape, type Shape } from "../../src/value/parse-shape.ts";
import { shapeOf } from "../../src/value/shape.ts";

it.each<[Json, Shape]>([
  ["text", ["string"]],
  [null, ["null"]],
  [[1, "a"], [{ elements: ["number", "string"] }]],
  [[[true]], [{ elements: [{ elements: ["boolean"] }] }]],
  [[], [{ elements: [] }]],
  [{}, [{ keys: [], isOpen: false }]],
  [
    [{ id: 1 }, { id: 2, 'a "key"': null }],
    [
      {
        elements: [
          {
            keys: [
              { key: "id", isOptional: false, shape: ["number"] },
              { key: 'a "key"', isOptional: true, shape: ["null"] },
            ],
            isOpen: false,
          },
        ],
      },
    ],
  ],
])("parses the shape of %j", (value, shape) => {
  expect(parseShape(shapeOf(value))).toEqual(shape);
});

it.each([
  "",
  "bytes",
  "{",
  "{a: number",
  "(number",
  "number | ",
  "{a number}",
  '{"a: number}',
  "1",
])("returns nothing for %j", (text) => expect(parseShape(text)).toEqual([]));

it("reports that keys were left out", () => {
  const [kind] = parseShape(shapeOf(Object.fromEntries(many.map((key) => [key, key]))));
  expect(kind).toMatchObject({ isOpen: true });
});

const many = Array.from({ length: 100 }, (_, index) => `key_${index}`);

/** Formats a shape as `shapeOf` does. */
function written(shape: Shape): string {
  const kinds = shape.map((kind) => {
    if (typeof kind === "string") return kind;
    if ("elements" in kind) {
      const text = written(kind.elements);
      return kind.elements.length > 1 ? `(${text})[]` : `${text}[]`;
    }
    const keys = kind.keys.map(({ key, isOptional, shape: inner }) => {
      const name = /^[A-Za-z_]\w*$/u.test(key) ? key : JSON.stringify(key);
      return `${name}${isOptional ? "?" : ""}: ${written(inner)}`;
    });
    return `{${keys.join(", ")}}`;
  });
  return kinds.length === 0 ? "unknown" : kinds.join(" | ");
}

it("is lossless for any shape that was not shortened", () => {
  let read = 0;
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const shape = shapeOf(value as Json);
      if (shape.includes("…")) return;
      read++;
      expect(written(parseShape(shape))).toBe(shape);
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThan(200);
});
