import { describe, expect, it } from "vitest";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { interpolate, resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { type Json } from "../../src/value/json.ts";

const orders = Array.from({ length: 40 }, (_, n) => ({
  id: `o${n}`,
  total: n,
  lines: [{ sku: `s${n}`, "unit price": 2 }],
}));

const variables: Readonly<Record<string, Json>> = {
  orders,
  // Too large for a row: its elements are loaded in parts.
  many: Array.from({ length: 4_000 }, (_, n) => ({ id: n, note: "x".repeat(20), deep: { at: n } })),
  page: `${"line\n".repeat(20_000)}end`,
  person: { name: "Ada", age: 36, isIn: true, boss: null, "first name": "Ada", "a-b": 1, été: 2 },
  odd: { 'a"b': 1, "a'b": { "c.d": [1, 2] }, "a\\b": 3, "": 4, "9": 5 },
  scores: { r: [{ k: 1 }, { k: 2 }, { k: 3 }], empty: [], none: {} },
  grid: [
    [1, 2],
    [3, 4],
  ],
  n: 5,
};

async function storeOf(): Promise<Lookup> {
  const store = new MemoryStore();
  for (const [name, value] of Object.entries(variables)) await store.save({ name, value });
  return lookupInStore(store);
}

async function messageOf(reference: string, lookup: Lookup): Promise<string | undefined> {
  try {
    await resolveReferences(reference, lookup);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

it.each([
  ["$scores.r[0:2].k", "scores.r[0:2] has length 2. Did you mean scores.r[0:2][*].k?", [1, 2]],
  ["$orders.total", "orders has length 40. Did you mean orders[*].total?", expect.any(Array)],
  ["$orders.totl", "orders has length 40. Did you mean orders[*].total?", expect.any(Array)],
  [
    "$orders[0].lines.sku",
    "orders[0].lines has length 1. Did you mean orders[0].lines[*].sku?",
    ["s0"],
  ],
  ["$many.deep.at", "many has length 4000. Did you mean many[*].deep.at?", expect.any(Array)],
  ["$many[5:9].id", "many[5:9] has length 4. Did you mean many[5:9][*].id?", [5, 6, 7, 8]],
  ["$grid[2]", "grid has length 2.", expect.any(Array)],
  ["$person.boss.name", "person.boss is null.", null],
  ["$person.age.x", "person.age is a number.", 36],
  ["$person.isIn[0]", "person.isIn is a boolean.", true],
  ["$person.name.first", "person.name is a string of length 3.", "Ada"],
  ["$page.x", "page is a string of length 100003.", variables["page"]],
  ["$n[*]", "n is a number.", 5],
  ['$person["first nam"]', 'Did you mean ["first name"]?', "Ada"],
  ["$odd.a", String.raw`odd has the keys ["9"], ["a\"b"], ["a'b"], ["a\\b"], [""].`, 5],
])("the miss of %s says %s, which works as it is written", async (reference, said, value) => {
  for (const lookup of [lookupIn(variables), await storeOf()]) {
    const message = (await messageOf(reference, lookup)) ?? "";
    expect(message).toContain(said);
    const [, near] = / Did you mean (.*)\?$/u.exec(message) ?? [];
    const [, above = ""] = /leads nowhere\. (\S+) /u.exec(message) ?? [];
    const [first = ""] = near?.split(" or ") ?? [];
    const advised = near === undefined || first.startsWith("[") ? above + first : first;
    expect((await resolveReferences(`$${advised}`, lookup)).value).toEqual(value);
  }
});

describe("text in braces whose path cannot be read", () => {
  it.each([
    "{{person.été}}",
    "{{ person.first name }}",
    "{{person.a-b}}",
    "{{odd.9}}",
    "{{person[first name]}}",
    "${person.été}",
  ])("%s is unresolved", async (text) => {
    const syntaxes = ["mustache", "dollar"] as const;
    const lookup = lookupIn(variables);
    const filled = await interpolate(`a ${text} b {{n}}`, lookup, { syntaxes });
    const message = expect.stringContaining("is written in quotes, as in ");
    expect(filled).toMatchObject({
      text: `a ${text} b 5`,
      unresolved: [{ reference: text, code: "bad_path", message }],
    });
    const resolved = await resolveReferences({ text }, lookup, { syntaxes });
    expect(resolved).toMatchObject({ value: { text }, unresolved: [{ reference: text }] });
  });

  it.each([
    "{{nobody.été}}",
    String.raw`\{{person.été}}`,
    "{{person | upper}}",
    "{{#person}}",
    "$${person.é}",
  ])("%s is plain text", async (text) => {
    const syntaxes = ["mustache", "dollar"] as const;
    expect(await interpolate(text, lookupIn(variables), { syntaxes })).toEqual({
      text,
      unresolved: [],
    });
  });
});
