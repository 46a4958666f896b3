import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { type Handle, type ToolOutput, toolOutput } from "../../src/tool/tool-output.ts";
import type { Json } from "../../src/value/json.ts";

async function outputOf(
  value: Json,
  name = "it",
): Promise<{ output: ToolOutput; store: MemoryStore }> {
  const store = new MemoryStore();
  const info = await store.save({ name, value });
  return { output: toolOutput(info, (await store.read(name)) ?? null), store };
}

function isHandle(output: ToolOutput): output is Handle {
  return "try" in output;
}

/** Returns a list whose JSON has exactly `chars` characters. */
function listOf(chars: number): Json {
  return ["x".repeat(chars - 4)];
}

/** Expects that each is resolved as a whole, not as the variable followed by text. */
async function expectWholeReferences(suggestions: readonly string[], store: MemoryStore) {
  for (const suggestion of suggestions) {
    const reference = suggestion.replace(/: [a-z ()|[\]]+$/u, "");
    const sources: string[] = [];
    const onResolved = (source: string) => void sources.push(source);
    await resolveReferences(reference, lookupInStore(store), { onResolved });
    expect(sources).toEqual([reference]);
  }
}

describe("a small result", () => {
  it.each<Json>([null, 0, "", false, [], {}, "text", { a: [1, { b: null }] }])(
    "is shown whole: %j",
    async (value) => {
      expect((await outputOf(value)).output).toEqual({ $var: "it", value });
    },
  );

  it("has at most 1,000 characters of JSON", async () => {
    const max = limits.maxShownResultChars;
    expect(JSON.stringify(listOf(max)).length).toBe(max);
    const shown = await Promise.all(
      [max - 1, max, max + 1].map((chars) => outputOf(listOf(chars))),
    );
    expect(shown.map(({ output }) => isHandle(output))).toEqual([false, false, true]);
  });
});

const many = (count: number, one: (at: number) => readonly [string, Json]) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => one(at)));
const list = (count: number, one: (at: number) => Json) =>
  Array.from({ length: count }, (_, at) => one(at));

function deep(levels: number): Json {
  let value: Json = 1;
  for (let at = 0; at < levels; at++) value = at % 2 === 0 ? [value] : { [`"${at}`]: value };
  return [value, '"'.repeat(1_200)];
}

const large: readonly (readonly [string, Json])[] = [
  ["records", list(500, (id) => ({ id, name: `n${id}`, total: id / 4 }))],
  ["records without numbers", list(300, () => ({ a: "x", b: "y", c: [1] }))],
  ["records with a hundred quoted keys", list(99, (row) => many(100, (at) => [`k"${at}`, row]))],
  ["lists of lists", list(300, (at) => [at, [at]])],
  ["mixed elements", list(300, (at) => [at, { at }, "text", null][at % 4] ?? null)],
  ["a wide object", many(5_000, (at) => [`key_${at}`, { at }])],
  ["an object of empty lists", { a: [], b: {}, c: "x".repeat(1_200) }],
  ["keys of 64 characters", many(40, (at) => [`${"k".repeat(62)}${at + 10}`, at])],
  ["keys of 3,000 characters", many(5, (at) => ["k".repeat(3_000 + at), at])],
  ["keys that need quotes", { "a.b": "x".repeat(1_200), "a b": 1, "": 2, ключ: 3, "it's": [4] }],
  ["keys like $references", many(99, (at) => [`$it[${at}]`, '{"$var":"it"}'])],
  ["keys of the prototype", JSON.parse(`{"__proto__":[1],"constructor":"${"x".repeat(1_200)}"}`)],
  ["a text of quotes", '"'.repeat(2_000)],
  ["a text of control characters", "\u0000\u0007\u001b".repeat(700)],
  ["a text of pairs", "😀".repeat(1_500)],
  ["a text of lone surrogates", "\ud83d".repeat(1_500)],
  ["strings of quotes", list(50, () => '"'.repeat(70))],
  ["something deep", deep(180)],
];

describe("the handle of a large result", () => {
  it.each(large)(
    "has at most 800 characters, and suggests existing references: %s",
    async (_, value) => {
      const { output, store } = await outputOf(value, "a".repeat(limits.maxNameChars));
      if (!isHandle(output)) throw new Error("It was shown whole.");
      expect(JSON.stringify(output).length).toBeLessThanOrEqual(limits.maxHandleChars);
      expect(output.try.length).toBeLessThanOrEqual(4);
      expect(new Set(output.try).size).toBe(output.try.length);
      await expectWholeReferences(output.try, store);
    },
  );

  it("contains type, size, shape and preview", async () => {
    const value = list(5_000, (id) => ({ id, total: id }));
    const { output } = await outputOf(value);
    const json = JSON.stringify(value);
    expect(output).toMatchObject({
      $var: "it",
      type: "array",
      count: 5_000,
      bytes: json.length,
      shape: "{id: number, total: number}[]",
      preview: '{"id":0,"total":0}',
      try: ["$it[*].id: number[]", "$it[*].total: number[]", "$it[:10]"],
    });
  });

  it.each<[string, readonly Json[], readonly string[]]>([
    [
      "records by their id, even if it is late",
      list(200, (at) => ({ note: "x", n: 1, order_id: `o${at}`, z: [{ a: 1 }] })),
      ["$it[*].order_id: string[]", "$it[*].n: number[]", "$it[:10]"],
    ],
    [
      "columns of several types, of objects and of lists",
      list(200, (at) => ({ id: at % 2 === 0 ? at : "x", lists: [at] })),
      ["$it[*].id: (number | string)[]", "$it[*].lists: number[][]", "$it[:10]"],
    ],
    [
      "no column that a record lacks, and no type that is unknown",
      list(200, (at) => ({ ...(at === 9 ? {} : { id: at }), "a b": [], o: { at } })),
      ["$it[*].o: object[]", '$it[*]["a b"]', "$it[:10]"],
    ],
    [
      "no column of mixed elements",
      list(200, (at) => (at < 9 ? { at } : at)),
      ["$it[0]: number | object", "$it[:10]"],
    ],
    [
      "the columns that the shape has room for",
      list(9, () => many(200, (at) => [`k${at}`.padEnd(60, "k"), at])),
      [
        `$it[*].${"k0".padEnd(60, "k")}: number[]`,
        `$it[*].${"k3".padEnd(60, "k")}: number[]`,
        "$it[:10]",
      ],
    ],
  ])("suggests parts of records that were streamed: %s", async (_, records, paths) => {
    const store = new MemoryStore();
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    const value = await store.receive(new Blob([lines]).stream(), "application/x-ndjson");
    const output = toolOutput(await store.save({ name: "it", value }), undefined);
    if (!isHandle(output)) throw new Error("It was shown whole.");
    expect(output.try).toEqual(paths);
    expect(JSON.stringify(output).length).toBeLessThanOrEqual(limits.maxHandleChars);
    await expectWholeReferences(output.try, store);
  });

  it("is well-formed text without control characters for any value", async () => {
    for (const [, value] of large) {
      const { output } = await outputOf(value);
      if (!isHandle(output)) continue;
      for (const text of [output.preview, output.shape]) {
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(/\p{Cc}/u);
      }
    }
  });
});
