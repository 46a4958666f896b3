import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { parseShape, type Shape, type ShapeKey } from "../../src/value/parse-shape.ts";
import { shapeOf } from "../../src/value/shape.ts";

const key: ShapeKey = { key: "a", isOptional: false, shape: ["null"] };

it.each<[Json, Shape]>([
  ["text", ["string"]],
  [null, ["null"]],
  [[1, "a"], [{ elements: ["number", "string"] }]],
  [[[true]], [{ elements: [{ elements: ["boolean"] }] }]],
  [[], [{ elements: [] }]],
  [{}, [{ keys: [], isOpen: false }]],
  [{ 'a "key"': null }, [{ keys: [{ ...key, key: 'a "key"' }], isOpen: false }]],
  [[{ a: null }, {}], [{ elements: [{ keys: [{ ...key, isOptional: true }], isOpen: false }] }]],
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
