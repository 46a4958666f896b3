import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { formatPath, type Path, readPath, type Segment } from "../../src/value/path.ts";

/** Reads with a path in its text form, so that the examples look like references. */
function read(value: Json, written: string) {
  const path = parsePath(written);
  if (path === undefined) throw new Error(`${written} is not a path`);
  return readPath(value, path);
}

function found(value: Json, written: string): Json | undefined {
  const reading = read(value, written);
  return reading.found ? reading.value : undefined;
}

/** Returns a failed reading, with the nearest prefix in its text form. */
function missed(value: Json, written: string) {
  const reading = read(value, written);
  if (reading.found) throw new Error(`${written} leads to ${JSON.stringify(reading.value)}`);
  return { ...reading, nearest: formatPath(reading.nearest) };
}

describe("reading keys and indices", () => {
  it.each(["constructor", "__proto__", "length", "toString", "hasOwnProperty", "at"])(
    "treats an inherited %s as a missing key",
    (key) => {
      for (const value of [{}, ["a"], "text", 1, true, null]) {
        expect(readPath(value, [{ key }]).found).toBe(false);
      }
    },
  );

  it.each(["constructor", "__proto__", "length"])("reads an own %s like any other key", (key) => {
    const value: Json = JSON.parse(`{"${key}": {"inner": 1}}`);
    expect(readPath(value, [{ key }, { key: "inner" }])).toEqual({ found: true, value: 1 });
  });
});

const ABC = ["a", "b", "c"];
const MIXED = [{ a: 1 }, { b: 2 }, { a: 3 }];
const NESTED = [{ v: [{ n: 1 }, { n: 2 }] }, { v: [] }, { v: [{ m: 0 }] }, { v: [{ n: 3 }] }];

it.each<[Json, string, Json | undefined]>([
  [[1], "", [1]],
  [{ value: null }, ".value", null],
  // A negative index counts from the end.
  [ABC, "[-1]", "c"],
  [ABC, "[-4]", undefined],
  [["a"], '["0"]', undefined],
  [{ "0": "a" }, "[0]", undefined],
  ["text", "[0]", undefined],
  [null, "[*]", undefined],
  ["a😀b😀", "[2:]", "b😀"],
  // A projection applies the rest to each element or value, and skips those without it.
  [MIXED, "[*].a", [1, 3]],
  [{ z: { n: 1 }, a: { n: 2 } }, "[*].n", [1, 2]],
  [[{ a: null }, {}], "[*].a", [null]],
  [{}, "[*]", []],
  [NESTED, "[*].v[*].n", [[1, 2], [], [3]]],
  [MIXED, "[0:2][*].b", [2]],
  [["abc", "de"], "[*][:1]", ["a", "d"]],
])("of %j, the path %s reads %j", (value, written, expected) => {
  expect(found(value, written)).toEqual(expected);
});

const letters = ["a", "b", "c", "d", "e", "f", "g"];

// The examples of RFC 9535, section 2.3.4.3, with step 1, and slices at the bounds.
it.each([
  ["[:]", "abcdefg"],
  ["[-2:]", "fg"],
  ["[-3:-1]", "ef"],
  ["[-100:2]", "ab"],
  ["[3:1]", ""],
  ["[-1:0]", ""],
])("slices %s selects the same part of an array or a text as in RFC 9535", (written, expected) => {
  expect(found(letters, written)).toEqual(expected.split(""));
  expect(found(letters.join(""), written)).toBe(expected);
});

const ROWS: Json = { rows: [{ id: 1, name: "a😀" }], empty: {} };

it.each<[Json, string, miss: object]>([
  [ROWS, ".rows[0].nope.deeper", { nearest: ".rows[0]", keys: ["id", "name"] }],
  [ROWS, ".nope", { nearest: "", keys: ["rows", "empty"] }],
  [ROWS, ".rows[7]", { nearest: ".rows", length: 1 }],
  [ROWS, ".rows[0].name.x", { nearest: ".rows[0].name", type: "string", length: 2 }],
  [ROWS, ".rows[0].id.x", { nearest: ".rows[0].id", type: "number" }],
  [MIXED, "[*].c", { nearest: "[*]", keys: ["a"] }],
])("a miss in %j at %s reports how far the path leads: %j", (value, written, miss) => {
  expect(missed(value, written)).toEqual({ found: false, ...miss });
});

it.each<[Path, string]>([
  [[{ key: "a" }, { key: "_b9" }, { key: "k".repeat(99) }], `.a._b9.${"k".repeat(99)}`],
  [[{ key: "9" }, { key: "é" }], '["9"]["é"]'],
  [[{ key: "a-b" }], '["a-b"]'],
  [[{ key: "" }], '[""]'],
  [[{ key: 'say "\\"' }], '["say \\"\\\\\\""]'],
  [[{ index: 0 }, { index: -1 }], "[0][-1]"],
  [[{ each: true }], "[*]"],
  [[{}, { from: 1 }, { to: -1 }, { from: 0, to: 2 }], "[:][1:][:-1][0:2]"],
])("writing and reading paths %j is written %s", (path, written) => {
  expect(formatPath(path)).toBe(written);
});

it("writing and reading paths round-trip for any path", () => {
  const integer = fc.maxSafeInteger();
  const key = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\n\r]/g, " "));
  const segment: fc.Arbitrary<Segment> = fc.oneof(
    fc
      .oneof(key, fc.constantFrom("__proto__", "'", '"', "\\", "]", '"]'))
      .map((one) => ({ key: one })),
    integer.map((index) => ({ index })),
    fc.constant<Segment>({ each: true }),
    fc.record({ from: integer, to: integer }, { requiredKeys: [] }),
  );
  fc.assert(
    fc.property(fc.array(segment), (path) => {
      expect(parsePath(formatPath(path))).toEqual(path);
    }),
    { numRuns: 1_000 },
  );
});
