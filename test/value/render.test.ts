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

it("a value inside a tool's input is compact JSON, and never cut", () => {
  const value = Array.from({ length: 100_000 }, (_, index) => ({ index }));
  expect(renderText(value)).toBe(JSON.stringify(value));
});

describe("a value inside a line", () => {
  it("prints any short value as compact JSON", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const json = JSON.stringify(value);
        fc.pre(typeof value !== "string" && json.length <= limits.maxExcerptChars);
        expect(renderInline(value)).toBe(json);
      }),
    );
  });

  it("cuts a long array between elements and counts the others", () => {
    const value = Array.from({ length: 2_000 }, (_, index) => index);
    const [, start = "", count] = /^\[(.*),… \(\+(\d+) more\)\]$/.exec(renderInline(value)) ?? [];
    const shown: unknown = JSON.parse(`[${start}]`);
    expect(shown).toEqual(value.slice(0, 2_000 - Number(count)));
    expect(start.length).toBeLessThanOrEqual(limits.maxExcerptChars);
    expect(start.length).toBeGreaterThan(limits.maxExcerptChars - 10);
  });

  it("cuts a long object between keys and counts the others", () => {
    const [, start = "", count] =
      /^\{(.*),… \(\+(\d+) more\)\}$/.exec(renderInline(row(1_000))) ?? [];
    const shown = Object.keys(JSON.parse(`{${start}}`));
    expect(shown.length + Number(count)).toBe(1_000);
    expect(shown).toEqual(Object.keys(row(shown.length)));
    expect(start.length).toBeLessThanOrEqual(limits.maxExcerptChars);
  });

  it("is complete up to its limit and truncated above it", () => {
    const inside = limits.maxExcerptChars - 4;
    for (const chars of [inside - 1, inside]) {
      const value = ["x".repeat(chars - 2), "y"];
      expect(renderInline(value)).toBe(JSON.stringify(value));
    }
    expect(renderInline(["x".repeat(inside - 1), "y"])).toBe(
      `["${"x".repeat(inside - 1)}",… (+1 more)]`,
    );
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
      [{ "a|b\nc": "||\r\nx\ry\nz" }],
      "| a\\|b c |",
      "| --- |",
      "| \\|\\| x y z |",
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

  it("shows up to 50 rows, and the number of further rows below", () => {
    for (const count of [limits.maxShownItems - 1, limits.maxShownItems]) {
      const lines = renderBlock(rows(count), "$many").split("\n");
      expect(lines).toHaveLength(count + 2);
      expect(lines.every((line) => line.startsWith("|"))).toBe(true);
    }
    const above = renderBlock(rows(limits.maxShownItems + 1), "$many").split("\n");
    expect(above.slice(-2)).toEqual(["", "… 1 more row in $many"]);
    expect(above).toHaveLength(limits.maxShownItems + 2 + 2);
    expect(renderBlock(rows(500), "$many").split("\n").at(-1)).toBe("… 450 more rows in $many");
  });

  it("shows up to 12 columns, and the number of further columns below", () => {
    for (const columns of [limits.maxTableColumns - 1, limits.maxTableColumns]) {
      const lines = renderBlock([row(columns)], "$wide").split("\n");
      expect(lines).toHaveLength(3);
      expect(lines[0]).toContain(`| c${columns - 1} |`);
    }
    const above = renderBlock([row(limits.maxTableColumns + 1)], "$wide").split("\n");
    expect(above.slice(3)).toEqual(["", "… 1 more column in $wide"]);
    expect(above[0]).not.toContain("c12");
    expect(
      renderBlock([row(20)], "$wide")
        .split("\n")
        .at(-1),
    ).toBe("… 8 more columns in $wide");
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
  it("is indented by two spaces", () => {
    const value = { a: [1, { b: "x" }], c: {}, d: [] };
    expect(renderBlock(value, "$v")).toBe(`\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``);
  });

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

  it.each([0, 1, 2, 3, 4, 10, 1_000])(
    "has a longer fence than a run of %i backticks inside",
    (run) => {
      const { fence } = openFence(renderBlock({ code: `a${"`".repeat(run)}b\`` }, "$v"));
      expect(fence).toHaveLength(Math.max(3, run + 1));
    },
  );

  it("counts backticks in keys, but not across strings", () => {
    expect(openFence(renderBlock([["``", "``"]], "$v")).fence).toHaveLength(3);
    expect(openFence(renderBlock({ "````": 1 }, "$v")).fence).toHaveLength(5);
  });

  it("cuts a long array between elements and says below how many are left out", () => {
    const value = Array.from({ length: 5_000 }, (_, index) => `element ${index}`);
    const { text, below } = openFence(renderBlock(value, "$list"));
    const shown: unknown = JSON.parse(text);
    expect(shown).toEqual(value.slice(0, Array.isArray(shown) ? shown.length : 0));
    const left = 5_000 - (Array.isArray(shown) ? shown.length : 0);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(5_000);
    expect(below).toBe(`… ${left} more items in $list`);
  });

  it("cuts a long object between keys and says below how many are left out", () => {
    const { text, below } = openFence(renderBlock(row(5_000), "$map"));
    const shown = Object.keys(JSON.parse(text));
    expect(shown).toEqual(Object.keys(row(shown.length)));
    expect(shown.length).toBeGreaterThan(0);
    expect(below).toBe(`… ${5_000 - shown.length} more keys in $map`);
  });

  it("uses the singular for one item and one key", () => {
    const long = "x".repeat(limits.maxBlockChars - 100);
    expect(openFence(renderBlock([long, long], "$v")).below).toBe("… 1 more item in $v");
    expect(openFence(renderBlock({ a: long, b: long }, "$v")).below).toBe("… 1 more key in $v");
  });

  it("is complete up to its limit and truncated above it", () => {
    // The indentation of two spaces per item, a comma and a digit also count.
    const room = limits.maxBlockChars - 6;
    for (const chars of [room - 1, room]) {
      expect(openFence(renderBlock(["x".repeat(chars - 2), 1], "$v")).below).toBe("");
    }
    expect(openFence(renderBlock(["x".repeat(room - 1), 1], "$v")).below).toBe(
      "… 1 more item in $v",
    );
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
