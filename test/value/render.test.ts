import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Json, JsonArray, JsonObject } from "../../src/value/json.ts";
import { isTable, renderBlock, renderInline, renderText } from "../../src/value/render.ts";

const anyJson = fc.jsonValue() as fc.Arbitrary<Json>;

function row(columns: number): JsonObject {
  return Object.fromEntries(Array.from({ length: columns }, (_, index) => [`c${index}`, index]));
}

function rows(count: number, columns = 1): readonly JsonObject[] {
  return Array.from({ length: count }, () => row(columns));
}

/** Returns the fence of a block, the text inside it and the text below it. */
function openFence(block: string): { fence: string; text: string; below: string } {
  const [, fence = "", text = "", below = ""] =
    /^(`{3,})json\n([^]*)\n\1(?:\n\n(.*))?$/.exec(block) ?? [];
  return { fence, text, below };
}

it.each<[Json, string]>([
  ['say "hi"\n', 'say "hi"\n'],
  ['a "quoted" | text\n'.repeat(10_000), 'a "quoted" | text\n'.repeat(10_000)],
  [0, "0"],
  [1e21, "1e+21"],
  [true, "true"],
  [null, "null"],
])("a text or a scalar is the same in a tool's input and inside a line: %j", (value, text) => {
  expect([renderText(value), renderInline(value)]).toEqual([text, text]);
});

describe("a value inside a line", () => {
  it.each<[string, JsonArray | JsonObject, RegExp, number]>([
    [
      "array",
      Array.from({ length: 2_000 }, (_, index) => index),
      /^\[(.*),… \(\+(\d+) more\)\]$/,
      2_000,
    ],
    ["object", row(1_000), /^\{(.*),… \(\+(\d+) more\)\}$/, 1_000],
  ])("cuts a long %s between items and counts the others", (type, value, pattern, total) => {
    const [, start = "", count] = pattern.exec(renderInline(value)) ?? [];
    const shown = JSON.parse(type === "array" ? `[${start}]` : `{${start}}`) as object;
    expect(Object.values(shown)).toEqual(Object.values(value).slice(0, total - Number(count)));
    expect(start.length).toBeLessThanOrEqual(limits.maxExcerptChars);
    expect(start.length).toBeGreaterThan(limits.maxExcerptChars - 20);
  });

  it("truncates a first element that is too long at a whole character", () => {
    for (const pad of ["", "a"]) {
      const text = renderInline([pad + "😀".repeat(5_000), 2]);
      expect(text.length).toBeLessThan(limits.maxExcerptChars + 40);
      expect(text.isWellFormed()).toBe(true);
      expect(text.endsWith("😀… (cut),… (+1 more)]")).toBe(true);
    }
  });
});

describe("a table", () => {
  it.each<[string, JsonArray, ...lines: string[]]>([
    ["one row per object", [{ id: 1 }, { id: 2 }], "| id |", "| --- |", "| 1 |", "| 2 |"],
    [
      "its columns in the order in which keys first appear",
      [{ b: 1 }, { c: 3, a: 2, b: 4 }],
      "| b | c | a |",
      "| --- | --- | --- |",
      "| 1 |  |  |",
      "| 4 | 3 | 2 |",
    ],
    [
      "strings as they are, null and missing values as empty cells, other scalars as JSON",
      [{ a: 'x "y"', b: null, c: true, d: -1.5, e: "" }, { a: "" }],
      "| a | b | c | d | e |",
      "| --- | --- | --- | --- | --- |",
      '| x "y" |  | true | -1.5 |  |',
      "|  |  |  |  |  |",
    ],
    [
      "escaped pipes, and spaces for line breaks, in cells and in the header",
      [{ "a|b\nc": "||\r\nx\ry\nz\u2028", [String.raw`d\|e\\|`]: "\\" }],
      String.raw`| a\|b c | d\\\|e\\\\\| |`,
      "| --- | --- |",
      String.raw`| \|\| x y z  | \ |`,
    ],
    [
      "no columns of an object's prototype",
      [{ a: 1 }, JSON.parse('{"__proto__": "own", "constructor": 1}') as JsonObject],
      "| a | __proto__ | constructor |",
      "| --- | --- | --- |",
      "| 1 |  |  |",
      "|  | own | 1 |",
    ],
  ])("has %s", (_, value, ...lines) => {
    expect(renderBlock(value, "$rows").split("\n")).toEqual(lines);
  });

  it.each<[JsonArray, number, string?]>([
    [rows(limits.maxShownItems), limits.maxShownItems + 2],
    [rows(limits.maxShownItems + 1), limits.maxShownItems + 4, "… 1 more row in $v"],
    [rows(500), limits.maxShownItems + 4, "… 450 more rows in $v"],
    [[row(limits.maxTableColumns)], 3],
    [[row(limits.maxTableColumns + 1)], 5, "… 1 more column in $v"],
    [[row(20)], 5, "… 8 more columns in $v"],
  ])("shows up to 50 rows of 12 columns, and counts the others below", (value, count, below) => {
    const lines = renderBlock(value, "$v").split("\n");
    expect(lines).toHaveLength(count);
    expect(lines[0]?.match(/c\d+/g)?.length).toBeLessThanOrEqual(limits.maxTableColumns);
    if (below === undefined) expect(lines.at(-1)).toMatch(/^\|/);
    else expect(lines.slice(-2)).toEqual(["", below]);
  });

  it("counts the columns of hidden rows, and reports what is hidden in one line", () => {
    const lines = renderBlock([...rows(50, 13), { last: 1 }], "$big").split("\n");
    expect(lines.at(-1)).toBe("… 1 more row and 2 more columns in $big");
    expect(renderBlock([...rows(60), { last: 1 }], "$many")).toMatch(/^\| c0 \| last \|\n/);
  });

  it.each<[JsonArray | JsonObject, boolean]>([
    [[{ a: 1 }], true],
    [[{ a: 1 }, {}], true],
    [[{ a: null }], true],
    [[], false],
    [[{}], false],
    [{ a: 1 }, false],
    [["a"], false],
    [[{ a: 1 }, 2], false],
    [[{ a: 1 }, null], false],
    [[{ a: [] }], false],
    [[{ a: 1 }, { a: { b: 1 } }], false],
    [[[1]], false],
  ])("is used for %j: %s", (value, expected) => {
    expect(isTable(value)).toBe(expected);
    expect(renderBlock(value, "$v").startsWith("|")).toBe(expected);
  });
});

describe("fenced JSON", () => {
  it("is the indented JSON of any short value that is not a table", () => {
    fc.assert(
      fc.property(fc.oneof(fc.array(anyJson), fc.dictionary(fc.string(), anyJson)), (value) => {
        fc.pre(!isTable(value) && JSON.stringify(value).length < limits.maxBlockChars / 4);
        const { fence, text, below } = openFence(renderBlock(value, "$v"));
        expect(fence.length).toBeGreaterThanOrEqual(3);
        expect(text).toBe(JSON.stringify(value, null, 2));
        expect(below).toBe("");
      }),
    );
  });

  it.each([0, 1, 2, 3, 4, 10, 1_000])("has a longer fence than %i backticks inside", (run) => {
    const { fence } = openFence(renderBlock({ code: `a${"`".repeat(run)}b\`` }, "$v"));
    expect(fence).toHaveLength(Math.max(3, run + 1));
  });

  it.each<[string, JsonArray | JsonObject, number]>([
    ["item", Array.from({ length: 5_000 }, (_, index) => `element ${index}`), 5_000],
    ["key", row(5_000), 5_000],
    ["item", ["x".repeat(limits.maxBlockChars - 100), "x".repeat(limits.maxBlockChars - 100)], 2],
    ["key", { a: "x".repeat(limits.maxBlockChars - 100), b: "x".repeat(101) }, 2],
  ])("cuts between each %s, and says below how many are left out", (noun, value, total) => {
    const { text, below } = openFence(renderBlock(value, "$v"));
    const shown = Object.entries(JSON.parse(text) as object);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown).toEqual(Object.entries(value).slice(0, shown.length));
    const left = total - shown.length;
    expect(below).toBe(`… ${left} more ${noun}${left === 1 ? "" : "s"} in $v`);
  });

  it("says if even the first item is truncated", () => {
    const long = Array.from({ length: 20_000 }, () => 1);
    expect(openFence(renderBlock({ a: long }, "$v")).below).toBe("… cut: more of the key in $v");
    expect(openFence(renderBlock([long, 2], "$v")).below).toBe(
      "… cut: more of the item and 1 more item in $v",
    );
    expect(renderInline({ a: long })).toMatch(/… \(cut\)\}$/);
  });
});
