import { describe, expect, it } from "vitest";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { interpolate, resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { isJsonArray, isScalar, type Json } from "../../src/value/json.ts";
import { formatPath, type Path } from "../../src/value/path.ts";

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

/** Returns the paths of all parts of a value, of the first elements of its lists. */
function* pathsIn(value: Json, path: Path = []): Generator<Path> {
  yield path;
  if (path.length > 4 || isScalar(value)) return;
  if (isJsonArray(value)) {
    if (value[0] !== undefined) yield* pathsIn(value[0], [...path, { index: 0 }]);
    return;
  }
  for (const [key, inner] of Object.entries(value)) yield* pathsIn(inner, [...path, { key }]);
}

/** What a model may write instead of a path. */
function* mistakes(path: Path): Generator<string> {
  const written = formatPath(path);
  for (const more of [
    ".k",
    ".id",
    "[0]",
    "[99]",
    "[-99]",
    "[*]",
    "[*].idd",
    "[0:2].id",
    '["no key"]',
  ]) {
    yield written + more;
  }
  // The index is forgotten, or the key is misspelt.
  for (const [at, segment] of path.entries()) {
    const others = [...path.slice(0, at), ...path.slice(at + 1)];
    if ("index" in segment) yield formatPath(others);
    if ("index" in segment)
      yield formatPath([...path.slice(0, at), { to: 2 }, ...path.slice(at + 1)]);
    if ("key" in segment) {
      const key = `${segment.key}s`;
      yield formatPath([...path.slice(0, at), { key }, ...path.slice(at + 1)]);
    }
  }
}

const segment = (written: string) => (written.startsWith("[") ? written : `.${written}`);

/** Returns the references that a message advises, and those to what it says exists. */
function advisedBy(message: string, name: string): readonly string[] {
  const [, above = "", is = ""] =
    /leads nowhere\. (.*?) (has .*?|is .*?|exists)\.(?: Did you mean .*)?$/su.exec(message) ?? [];
  const advised = [above];
  const [, length] = / length (\d+)/u.exec(is) ?? [];
  if (length !== undefined && Number(length) > 0) {
    advised.push(is.startsWith("has") ? `${above}[${Number(length) - 1}]` : `${above}[:${length}]`);
  }
  const [, near] = / Did you mean (.*)\?$/su.exec(message) ?? [];
  for (const one of near?.split(" or ") ?? []) {
    advised.push(new RegExp(`^${name}[.[]`, "u").test(one) ? one : `${above}${segment(one)}`);
  }
  const [, keys] = /^has the keys (.*)$/su.exec(is) ?? [];
  if (keys !== undefined && keys !== "(none)") {
    const each = keys.match(/\["(?:[^"\\]|\\.)*"\]|[^,[ ]+/gu) ?? [];
    advised.push(...each.map((key) => `${above}${segment(key)}`));
  }
  return advised;
}

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

describe.each([
  ["values", async () => lookupIn(variables)],
  ["a store", storeOf],
])("the advice of a miss in %s", (_, lookupOf) => {
  it.each(Object.keys(variables))("works as it is written: %s", async (name) => {
    const lookup = await lookupOf();
    let misses = 0;
    const wrong: string[] = [];
    for (const path of pathsIn(variables[name] ?? null)) {
      for (const mistake of mistakes(path)) {
        const message = await messageOf(`$${name}${mistake}`, lookup);
        if (message === undefined) continue;
        misses++;
        for (const advised of advisedBy(message, name)) {
          const failed = await messageOf(`$${advised}`, lookup);
          if (failed !== undefined) wrong.push(`${message} -> $${advised}: ${failed}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(misses).toBeGreaterThan(3);
  });
});

describe("a miss", () => {
  it.each([
    ["$scores.r[0:2].k", "scores.r[0:2] has length 2. Did you mean scores.r[0:2][*].k?"],
    ["$orders.total", "orders has length 40. Did you mean orders[*].total?"],
    ["$orders.totl", "orders has length 40. Did you mean orders[*].total?"],
    ["$orders[0].lines.sku", "orders[0].lines has length 1. Did you mean orders[0].lines[*].sku?"],
    ["$many.deep.at", "many has length 4000. Did you mean many[*].deep.at?"],
    ["$many[5:9].id", "many[5:9] has length 4. Did you mean many[5:9][*].id?"],
    ["$person.boss.name", "person.boss is null."],
    ["$person.age.x", "person.age is a number."],
    ["$person.isIn[0]", "person.isIn is a boolean."],
    ["$person.name.first", "person.name is a string of length 3."],
    ["$page.x", "page is a string of length 100003."],
    ["$n[*]", "n is a number."],
    ['$person["first nam"]', 'Did you mean ["first name"]?'],
    ["$odd.a", String.raw`odd has the keys ["9"], ["a\"b"], ["a'b"], ["a\\b"], [""].`],
  ])("%s says: %s", async (reference, said) => {
    for (const lookup of [lookupIn(variables), await storeOf()]) {
      expect(await messageOf(reference, lookup)).toContain(said);
    }
  });
});

describe("text in braces whose path cannot be read", () => {
  it.each([
    ["{{person.été}}", '{{person["été"]}}', "2"],
    ["{{ person.first name }}", '{{person["first name"]}}', "Ada"],
    ["{{person.a-b}}", '{{person["a-b"]}}', "1"],
    ["{{odd.9}}", '{{odd["9"]}}', "5"],
    ["{{person[first name]}}", '{{person["first name"]}}', "Ada"],
    ["${person.été}", '${person["été"]}', "2"],
  ])("%s is unresolved, with the form that works", async (text, written, value) => {
    const syntaxes = ["mustache", "dollar"] as const;
    const lookup = lookupIn(variables);
    const filled = await interpolate(`a ${text} b {{n}}`, lookup, { syntaxes });
    expect(filled).toMatchObject({
      text: `a ${text} b 5`,
      unresolved: [{ reference: text, code: "bad_path" }],
    });
    expect(filled.unresolved[0]?.message).toContain(`Write ${written}.`);
    expect((await interpolate(written, lookup, { syntaxes })).text).toBe(value);
    const resolved = await resolveReferences({ text }, lookup, { syntaxes });
    expect(resolved).toMatchObject({ value: { text }, unresolved: [{ reference: text }] });
  });

  it("is a miss if there is no such key", async () => {
    const { unresolved } = await interpolate("{{person.éte}} {{orders.x y}}", lookupIn(variables));
    expect(unresolved).toMatchObject([
      { code: "path_not_found", near: ['["été"]'] },
      { code: "path_not_found" },
    ]);
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
