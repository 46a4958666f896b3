import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { marksOfElements } from "../../src/value/array-meter.ts";
import { parseElements, parseRecords } from "../../src/value/records-text.ts";
import type { Json } from "../../src/value/json.ts";
import { spanOf } from "../../src/value/marks.ts";
import { sampled, samples } from "../support/slow.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const units = fc.constantFrom(
  "a",
  "é",
  "語",
  "😀",
  "\ud83d",
  "\ude00",
  '"',
  "\\",
  "\n",
  "[",
  "]",
  ",",
);
const text = fc.string({ unit: units, maxLength: 20 });
const element = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  text,
  fc.array(text, { maxLength: 3 }),
  fc.record({ id: fc.integer(), name: text }),
);
/** Very many elements, chosen from a few, some of them long: more than a megabyte in most runs. */
const large = fc
  .record({
    elements: fc.array(element, { minLength: 1, maxLength: 6 }),
    giants: fc.array(fc.nat({ max: 999 }), { maxLength: 3 }),
    times: fc.integer({ min: 1, max: 40_000 }),
  })
  .map(({ elements, giants, times }): readonly Json[] => {
    const values = Array.from({ length: times }, (_, at) => elements[at % elements.length] ?? null);
    const long = "é".repeat(limits.markBytes);
    for (const giant of giants) values.splice(Math.floor((giant * times) / 1_000), 0, [long]);
    return values;
  });

function encodeArray(values: readonly Json[]) {
  const bytes = new TextEncoder().encode(JSON.stringify(values));
  return { bytes, marks: marksOfElements(bytes) };
}

describe("an encoded array", () => {
  it("returns any slice from the span of its bytes", sampled, () => {
    const property = fc.property(large, fc.nat(), fc.nat(), (values, one, other) => {
      const { bytes: stored, marks } = encodeArray(values);
      const [from = 0, to = 0] = [one, other]
        .map((at) => at % (values.length + 1))
        .sort((a, b) => a - b);
      const total = { bytes: stored.length, count: values.length };
      const span = spanOf(marks, total, { from, to });
      const elements = parseElements(utf8.decode(stored.subarray(span.fromByte, span.toByte)));
      const slice = elements.slice(from - span.firstCount, to - span.firstCount);
      expect(JSON.stringify(slice) === JSON.stringify(values.slice(from, to))).toBe(true);
    });
    fc.assert(property, { numRuns: samples(40) });
  });
});

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
