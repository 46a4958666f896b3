import * as fc from "fast-check";
import { expect, test } from "vitest";
import { exactNumber, isDouble, isExactNumber } from "../../src/value/exact-number.ts";
import {
  canonicalJson,
  copyJson,
  countOf,
  deepFreeze,
  isObject,
  isScalar,
  jsonIn,
  parsedJson,
  plainJson,
  typeOfJson,
} from "../../src/value/json.ts";
import { diffOfJson } from "../../src/value/line-diff.ts";
import { charsOf } from "../../src/value/json-text.ts";
import { readPath } from "../../src/value/path.ts";
import { previewOf } from "../../src/value/preview.ts";
import { renderText } from "../../src/value/render.ts";
import { requireJson } from "../../src/value/require-json.ts";
import { shapeOf } from "../../src/value/shape.ts";
import { toJson } from "../../src/value/to-json.ts";

const LOST = [
  "1234567890123456789",
  "-1234567890123456789",
  "9007199254740993",
  "1e400",
  "-1E+400",
  "1e-400",
  "0.1234567890123456789",
  "123456789.12345678901",
  "12345678901234567890e2",
  "9".repeat(400),
];
const KEPT = [
  ["0", "-0", "-0.0", "0e999", "1.0", "1.10", "100", "1e2", "1E-7", "9007199254740992"],
  ["123456789012345680000", "1e23", "0.1", "0.30000000000000004", "51.50735099999999"],
  ["1.7976931348623157e308", "5e-324", "1.000000000000000000"],
].flat();

test.each(LOST)("%s keeps its digits", (source) => {
  expect(isDouble(source)).toBe(false);
  const number = parsedJson(` ${source}\n`);
  expect(isExactNumber(number)).toBe(true);
  for (const text of [source, `[${source}]`, `{"a":${source}}`, `[1,[{"a":[0,${source}]}]]`]) {
    const value = parsedJson(text);
    expect(JSON.stringify(value)).toBe(text);
    expect(canonicalJson(value)).toBe(text);
    expect(JSON.stringify(copyJson(deepFreeze(value)))).toBe(text);
    expect(JSON.stringify(toJson(value))).toBe(`{"value":${text},"notes":[]}`);
    expect(charsOf(value, Infinity)).toBe(text.length);
    expect(renderText(value)).toBe(text);
    requireJson([value]);
  }
  const kinds = [typeOfJson(number), countOf(number), isScalar(number), isObject(number)];
  expect(kinds).toEqual(["number", 1, true, false]);
  expect(shapeOf([number])).toBe("number[]");
  expect(previewOf([number], 1_000)).toBe(`[${source}]`);
  expect(readPath(number, [{ key: "rawJSON" }])).toMatchObject({ found: false, nearest: [] });
  expect(readPath(number, [{ each: true }])).toMatchObject({ found: false, nearest: [] });
  expect(plainJson([{ a: number }])).toEqual([{ a: source }]);
});

test.each(KEPT)("%s is a double", (source) => {
  expect(isDouble(source)).toBe(true);
  expect(exactNumber(source)).toBe(Number(source));
  expect(parsedJson(`[${source}]`)).toEqual([Number(source)]);
});

// nodejs/node#63785: V8 reads a key with escapes as one of an earlier text.
test("keys are those of the text, whatever was parsed before", () => {
  const key = fc.constantFrom(
    "\\",
    '"',
    "\n",
    "a\\",
    'a"',
    "\\\\",
    "\\a",
    "__proto__",
    "\ud800",
    "0",
    "b",
  );
  const recordOf = (keys: readonly string[]) =>
    Object.fromEntries([["h", 1], ...keys.map((one) => [one, one])]) as object;
  fc.assert(
    fc.property(fc.array(fc.uniqueArray(key)), (records) => {
      const text = JSON.stringify(records.map(recordOf));
      expect(JSON.stringify(parsedJson(text))).toBe(text);
    }),
    { examples: [[[["\\"], ["\n"]]]] },
  );
});

const DIGITS = String.raw`["1234567890123456789","a: 1234567890123456789, b","\"1e400",1e400]`;

test.each([
  [DIGITS, DIGITS],
  [String.raw`{"\u0030":1,"0":2}`, '{"0":2}'],
  [String.raw`[{"a":"\":","\"" : 1e400,"\u0022":2}]`, String.raw`[{"a":"\":","\"":2}]`],
  ...['{"\\n"', "\\", '"\\', '{"a\\\\"":1}', '{"\\x":1}', '{"\\n":}', '{"\\n":1,}'].map((bad) => [
    bad,
    "",
  ]),
])(
  "keys and digits are those of the text, and the last value of a key counts: %s",
  (text, json) => {
    if (json === "") expect(() => parsedJson(text)).toThrow(SyntaxError);
    else expect(JSON.stringify(parsedJson(text))).toBe(json);
  },
);

test("equal digits are no difference, others are one", () => {
  const diff = (one: string, other: string) =>
    diffOfJson(parsedJson(one), parsedJson(other), 10).diff;
  expect(diff("[1e400]", "[1e400]")).toBe("");
  expect(diff("[1234567890123456789]", "[1234567890123456790]")).toContain(
    "+  1234567890123456790",
  );
});

test("jsonIn takes deep text that is too deep to look into", () => {
  const depth = 100_000;
  const text = `${"[".repeat(depth)}1e400${"]".repeat(depth)}`;
  expect(() => requireJson(jsonIn(text) ?? null)).toThrow(
    expect.objectContaining({ code: "limit_exceeded" }),
  );
});
