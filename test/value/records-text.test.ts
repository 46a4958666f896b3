import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { parseElements, parseRecords } from "../../src/value/records-text.ts";

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

it.each<[string, readonly Json[]]>([
  ["1\n", [1]],
  ['{"a":1}\n[2]\n"x\\ny"\n', [{ a: 1 }, [2], "x\ny"]],
  ["", []],
])("the records of a span of %j are %j", (text, values) => {
  expect(parseRecords(text)).toEqual(values);
});
