import { expect, it } from "vitest";
import { shapeOf } from "../../src/value/shape.ts";
import type { Json } from "../../src/value/json.ts";
import { isDrawable } from "../src/chart/drawable.ts";

const known = (value: readonly Json[]) => ({
  type: "array" as const,
  count: value.length,
  shape: shapeOf([...value]),
  visibility: "model" as const,
});

it.each<readonly [readonly Json[]]>([
  [
    [
      { month: "May", total: 1 },
      { month: "June", total: 2 },
    ],
  ],
  [[{ total: null }, { total: 2, at: { x: 1 } }, {}]],
])("records with numbers can be drawn: %j", (value) => {
  expect(isDrawable(known(value))).toBe(true);
  expect(isDrawable({ ...known(value), visibility: "secret" })).toBe(false);
});

it.each<readonly [readonly Json[]]>([
  [[{ total: 1 }]],
  [[1, 2, 3]],
  [[{ name: "a" }, { name: "b" }]],
  [[{ at: { x: 1 } }, { at: { x: 2 } }]],
  [[{ all: [1] }, { all: [2] }]],
  [[{ all: [{ a: { b: 1 } }] }, { all: [{ a: { b: 1 } }] }]],
  [[{ a: 1 }, [{ a: 1 }]]],
])("values without a numeric column cannot be drawn: %j", (value) => {
  expect(isDrawable(known(value))).toBe(false);
});
