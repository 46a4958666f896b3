import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { parseElements } from "../../src/value/records-text.ts";

it.each<[string, readonly Json[]]>([
  ["1,", [1]],
  ["1]", [1]],
  ["[1],[2],", [[1], [2]]],
  ["[1],[2]]", [[1], [2]]],
  ['"a],",', ["a],"]],
  ['"a],"]', ["a],"]],
  ["]", []],
  ["", []],
])("the elements of a span of %j are %j", (text, values) => {
  expect(parseElements(text)).toEqual(values);
});
