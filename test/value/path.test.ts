import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchName, parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { sliceCodePoints } from "../../src/value/characters.ts";
import { formatPath, isPlainKey, type Path, readPath, type Segment } from "../../src/value/path.ts";

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
  it("returns the value itself, not a copy", () => {
    const wind = { speed: 5 };
    expect(found({ weather: [{ wind }] }, ".weather[0].wind")).toBe(wind);
  });

  it("returns the whole value for an empty path", () => {
    const value = [1];
    expect(found(value, "")).toBe(value);
  });

  it("finds null, false, zero and the empty string", () => {
    for (const value of [null, false, 0, ""]) {
      expect(read({ value }, ".value")).toEqual({ found: true, value });
    }
  });

  it("counts a negative index from the end, within the length", () => {
    expect(found(["a", "b", "c"], "[-1]")).toBe("c");
    expect(found(["a", "b", "c"], "[-3]")).toBe("a");
    expect(read(["a", "b", "c"], "[-4]").found).toBe(false);
    expect(read(["a", "b", "c"], "[3]").found).toBe(false);
  });

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

  it("reads no key of an array, no index of an object and nothing of a scalar", () => {
    expect(read(["a"], '["0"]').found).toBe(false);
    expect(read({ "0": "a" }, "[0]").found).toBe(false);
    expect(read("text", "[0]").found).toBe(false);
    expect(read(5, ".value").found).toBe(false);
    expect(read(null, "[*]").found).toBe(false);
  });
});

describe("slices", () => {
  const letters = ["a", "b", "c", "d", "e", "f", "g"];

  // The examples of RFC 9535, section 2.3.4.3, with step 1, and slices at the bounds.
  it.each([
    ["[1:3]", "bc"],
    ["[5:]", "fg"],
    ["[:2]", "ab"],
    ["[:]", "abcdefg"],
    ["[-2:]", "fg"],
    ["[:-5]", "ab"],
    ["[-3:-1]", "ef"],
    ["[-100:2]", "ab"],
    ["[5:100]", "fg"],
    ["[3:1]", ""],
    ["[-1:0]", ""],
    ["[7:]", ""],
  ])("%s selects the same part of an array or a text as in RFC 9535", (written, expected) => {
    expect(found(letters, written)).toEqual(expected.split(""));
    expect(found(letters.join(""), written)).toBe(expected);
  });

  it("count code points in a text and never split a surrogate pair", () => {
    expect(found("a😀b😀", "[1:2]")).toBe("😀");
    expect(found("a😀b😀", "[2:]")).toBe("b😀");
    expect(found("a😀b😀", "[-1:]")).toBe("😀");
    expect(found("a😀b😀", "[:-1]")).toBe("a😀b");
  });

  it("are missing in other values", () => {
    expect(read({ a: 1 }, "[:1]").found).toBe(false);
    expect(read(12345, "[:1]").found).toBe(false);
  });

  it("of a text count code points, for any bounds", () => {
    const bound = fc.option(fc.integer({ min: -12, max: 12 }), { nil: undefined });
    const text = fc.string({ unit: fc.constantFrom("a", "😀", "\ud83d", "\ude00", "é") });
    fc.assert(
      fc.property(text, bound, bound, (whole, from, to) => {
        const range = {
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        };
        expect(sliceCodePoints(whole, range)).toBe(Array.from(whole).slice(from, to).join(""));
      }),
    );
  });
});

describe("projections", () => {
  const mixed = [{ a: 1 }, { b: 2 }, { a: 3 }];

  it("apply the rest of the path to each element and skip those without it", () => {
    expect(found(mixed, "[*].a")).toEqual([1, 3]);
  });

  it("apply to the values of an object in order", () => {
    expect(found({ z: { n: 1 }, a: { n: 2 } }, "[*].n")).toEqual([1, 2]);
  });

  it("keep null", () => {
    expect(found([{ a: null }, {}], "[*].a")).toEqual([null]);
  });

  it("are empty for an empty collection", () => {
    expect(found([], "[*].a.b")).toEqual([]);
    expect(found({}, "[*]")).toEqual([]);
  });

  it("are missing if no element has the rest", () => {
    expect(missed(mixed, "[*].c")).toEqual({ found: false, nearest: "[*]", keys: ["a"] });
  });

  it("nest", () => {
    const value = [{ v: [{ n: 1 }, { n: 2 }] }, { v: [] }, { v: [{ m: 0 }] }, { v: [{ n: 3 }] }];
    expect(found(value, "[*].v[*].n")).toEqual([[1, 2], [], [3]]);
    expect(found([[1], [2, 3]], "[*][*]")).toEqual([[1], [2, 3]]);
  });

  it("can follow a slice, and precede one", () => {
    expect(found(mixed, "[0:2][*].b")).toEqual([2]);
    expect(found(["abc", "de"], "[*][:1]")).toEqual(["a", "d"]);
  });
});

describe("misses", () => {
  const value: Json = { rows: [{ id: 1, name: "a😀" }], empty: {} };

  it("report the longest existing prefix, and its keys", () => {
    expect(missed(value, ".rows[0].nope.deeper")).toEqual({
      found: false,
      nearest: ".rows[0]",
      keys: ["id", "name"],
    });
    expect(missed(value, ".nope")).toEqual({ found: false, nearest: "", keys: ["rows", "empty"] });
    expect(missed(value, ".empty.a")).toEqual({ found: false, nearest: ".empty", keys: [] });
  });

  it("report the length of an array or a text", () => {
    expect(missed(value, ".rows[7]")).toEqual({ found: false, nearest: ".rows", length: 1 });
    expect(missed(value, ".rows[0].name.x")).toEqual({
      found: false,
      nearest: ".rows[0].name",
      type: "string",
      length: 2,
    });
  });

  it("report no keys or length of a number, a boolean or null", () => {
    const miss = { found: false, nearest: ".rows[0].id", type: "number" };
    expect(missed(value, ".rows[0].id.x")).toEqual(miss);
  });

  it("include a projection in the prefix", () => {
    expect(missed([{ a: { b: 1 } }], "[*].a.c")).toEqual({
      found: false,
      nearest: "[*].a",
      keys: ["b"],
    });
  });
});

describe("writing and reading paths", () => {
  it.each<[Path, string]>([
    [[{ key: "a" }, { key: "_b9" }], ".a._b9"],
    [[{ key: "a-b" }], '["a-b"]'],
    [[{ key: "9" }], '["9"]'],
    [[{ key: "" }], '[""]'],
    [[{ key: "é" }], '["é"]'],
    [[{ key: 'say "\\"' }], '["say \\"\\\\\\""]'],
    [[{ index: 0 }, { index: -1 }], "[0][-1]"],
    [[{ each: true }], "[*]"],
    [[{}, { from: 1 }, { to: -1 }, { from: 0, to: 2 }], "[:][1:][:-1][0:2]"],
  ])("%j is written %s", (path, written) => {
    expect(formatPath(path)).toBe(written);
  });

  it("accept both quotes and the three escapes", () => {
    expect(parsePath(`['it\\'s']["\\\\\\"'"]`)).toEqual([{ key: "it's" }, { key: `\\"'` }]);
  });

  it.each(["a", ".", ".9", "[", "[]", "[01]", "[-0]", "[+1]", "[1:2:3]", "[ 0]", "[**]", "['a]"])(
    "refuse the path %j",
    (written) => expect(parsePath(written)).toBeUndefined(),
  );

  it.each(["['a\nb']", "['a\rb']", "['\\n']", "['a'b']", ".a ", "[0]x"])(
    "also refuse the path %j",
    (written) => expect(parsePath(written)).toBeUndefined(),
  );

  it("round-trip for any path", () => {
    const integer = fc.maxSafeInteger();
    const key = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\n\r]/g, " "));
    const segment: fc.Arbitrary<Segment> = fc.oneof(
      fc.oneof(key, fc.constantFrom("__proto__", "'", '"', "\\", "]", '"]')).map((one) => ({
        key: one,
      })),
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
});

describe("names and plain keys", () => {
  const isName = (text: string) =>
    matchName({ text, limit: text.length, ended: true }, 0).end === text.length && text !== "";

  it.each(["a", "_", "A9_", "__proto__", "n".repeat(64)])("%s is a name", (name) => {
    expect(isName(name)).toBe(true);
  });

  it.each(["", "9a", "a-b", "a.b", "é", " a", "n".repeat(65)])("%j is not a name", (name) => {
    expect(isName(name)).toBe(false);
  });

  it("a plain key can have any length", () => {
    expect(isPlainKey("k".repeat(1_000))).toBe(true);
    expect(["", "9", "a-b", "é", "a b"].filter(isPlainKey)).toEqual([]);
  });
});
