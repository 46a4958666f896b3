import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import {
  type Handle,
  type ToolOutput,
  toolOutput,
  guardedView,
  notKept,
  type OutputOptions,
  tryPaths,
  keptWrite,
} from "../../src/tool/tool-output.ts";
import { type Json, countOf, typeOfJson } from "../../src/value/json.ts";
import { Content } from "../../src/store/bytes/content.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import { formatPath } from "../../src/value/path.ts";
import { shapeOf } from "../../src/value/shape.ts";
import { storeWith } from "../support/wrapped.ts";

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
const listOf = (chars: number): Json => ["x".repeat(chars - 4)];

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

it.each<Json>([null, 0, "", false, [], {}, "text", { a: [1, { b: null }] }])(
  "is shown whole: %j",
  async (value) => {
    expect((await outputOf(value)).output).toEqual({ $var: "it", value });
  },
);

it("a result that is shown has at most 1,000 characters of JSON", async () => {
  const max = limits.maxShownResultChars;
  expect(JSON.stringify(listOf(max)).length).toBe(max);
  const shown = await Promise.all([max - 1, max, max + 1].map((chars) => outputOf(listOf(chars))));
  expect(shown.map(({ output }) => isHandle(output))).toEqual([false, false, true]);
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

it.each(large)("a handle has at most 800 characters and real references: %s", async (_, value) => {
  const { output, store } = await outputOf(value, "a".repeat(limits.maxNameChars));
  if (!isHandle(output)) throw new Error("It was shown whole.");
  expect(JSON.stringify(output).length).toBeLessThanOrEqual(limits.maxHandleChars);
  expect(output.try.length).toBeLessThanOrEqual(4);
  expect(new Set(output.try).size).toBe(output.try.length);
  await expectWholeReferences(output.try, store);
  for (const text of [output.preview, output.shape]) {
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toMatch(/\p{Cc}/u);
  }
});

it("the handle of a large result contains type, size, shape and preview", async () => {
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

async function shownOf(write: Omit<Write, "name">, options?: OutputOptions) {
  const info = await new MemoryStore().save({ ...write, name: "it" });
  return toolOutput(info, write.value instanceof Content ? undefined : write.value, options);
}

const unresolved = [1, 2, 3, 4, 5, 6].map((number) => ({
  reference: `$x${number}`,
  code: "variable_not_found" as const,
}));
const path = [{ key: "a" }, { index: 0 }];

describe("the output for a value", () => {
  it("has its path, and up to five references that were not resolved", async () => {
    expect(await shownOf({ value: 1 }, { path, unresolved })).toEqual({
      $var: "it",
      value: 1,
      path: ".a[0]",
      unresolved: unresolved.slice(0, 5),
    });
  });

  it("says that it is untrusted, if it is", async () => {
    expect(await shownOf({ value: 1, trusted: false })).toEqual({
      $var: "it",
      value: 1,
      untrusted: true,
    });
    expect(await shownOf({ value: 1 }, { hidesUntrusted: true })).toEqual({ $var: "it", value: 1 });
  });

  it("has only type and count if untrusted values are hidden", async () => {
    const options = { hidesUntrusted: true, path, unresolved: unresolved.slice(0, 1) };
    expect(await shownOf({ value: [7, 8], trusted: false }, options)).toEqual({
      $var: "it",
      visibility: "hidden",
      type: "array",
      count: 2,
      path: ".a[0]",
      unresolved: unresolved.slice(0, 1),
    });
  });

  it("has type and count if it is sealed, and nothing of a failed call", async () => {
    expect(await shownOf({ value: [7, 8], visibility: "sealed" }, { path, unresolved })).toEqual({
      $var: "it",
      visibility: "sealed",
      type: "array",
      count: 2,
      path: ".a[0]",
    });
  });
});

it.each<[string, Partial<VariableInfo>, object | undefined]>([
  ["nothing else", { visibility: "model", flags: ["derived"] }, undefined],
  ["type and count", { visibility: "sealed" }, { visibility: "sealed", type: "array", count: 3 }],
  [
    "type and count of a result with other flags",
    { visibility: "sealed", flags: ["composed"] },
    { visibility: "sealed", type: "array", count: 3 },
  ],
  [
    "no type of a derived one",
    { visibility: "sealed", flags: ["derived"] },
    { visibility: "sealed" },
  ],
  ["no type of a secret", { visibility: "secret" }, { visibility: "secret" }],
])("what a model may see of a guarded variable is %s", (_, info, expected) => {
  const known = { type: "array", count: 3, visibility: "model", ...info } as const;
  expect(guardedView(known as VariableInfo)).toStrictEqual(expected);
});

describe("a result that is not kept", () => {
  const value = [{ a: 1 }];
  const shown = { type: "array", count: 1, shape: "{a: number}[]", preview: '[{"a":1}]' };
  const said = (why: string) => `This result was not kept as a variable: ${why}`;

  it("says why, with what is known of it", () => {
    expect(notKept({ value }, "No room.")).toEqual({ notKept: said("No room."), ...shown });
    expect(notKept({ value, trusted: false }, "No room.")).toEqual({
      notKept: said("No room."),
      ...shown,
      untrusted: true,
    });
    expect(notKept({ value }, "No room.", true)).toEqual({ notKept: said("No room."), ...shown });
  });

  it("says nothing else of guarded, hidden or streamed content", async () => {
    const guarded = { notKept: said("it is too large.") };
    expect(notKept({ value, visibility: "sealed" }, "It has 9 keys.")).toEqual(guarded);
    expect(notKept({ value, visibility: "secret" }, "It has 9 keys.")).toEqual(guarded);
    const hidden = notKept({ value, trusted: false }, "No room.", true);
    expect(hidden).toEqual({ notKept: said("No room.") });
    const bytes = await new MemoryStore().receive(new Blob(["x"]).stream(), "image/png");
    expect(notKept({ value: bytes }, "No room.")).toEqual({ notKept: said("No room.") });
  });
});

it("a plan's result is kept if it is guarded, and as guarded as its places", async () => {
  const store = await storeWith({ open: 1 });
  await store.save({ name: "hidden", value: 1, visibility: "secret" });
  const call = { keepAs: { base: "kept", numbered: true, inputDigest: "d" } };
  const keep = (write: Partial<Write>, ...names: readonly string[]) =>
    keptWrite(
      { value: 1, ...write },
      { call, places: names.map((name) => ({ name })), value: 1 },
      store,
    );
  expect(keep({ visibility: "sealed" })).toMatchObject({ visibility: "sealed" });
  expect(keep({}, "open", "new")).toBeUndefined();
  expect(keep({}, "new", "hidden")).toMatchObject({ visibility: "secret", pinned: true });
});

/** The paths of a shape as they are written, with their types. */
const pathsIn = (shape: string, type: VariableInfo["type"] = "array", count = 9) =>
  tryPaths({ type, count, shape }).map(
    ({ path, type: typed }) => `${formatPath(path)}${typed === undefined ? "" : `: ${typed}`}`,
  );

it.each<[string, readonly string[]]>([
  ["number[]", ["[0]: number", "[:10]"]],
  ["({a: number} | null)[]", ["[0]: object | null", "[:10]"]],
  ["{a: number}", ["[0]", "[:10]"]],
  ["{a?: number, b: string}[]", ["[*].b: string[]", "[:10]"]],
  ["{a: string, n: number, order_id: string}[]", ["[*].a: string[]", "[*].n: number[]", "[:10]"]],
  ["{a: number | string}[]", ["[*].a: (number | string)[]", "[:10]"]],
  ["{a: {b: number}}[]", ["[*].a: object[]", "[:10]"]],
  ["{a: unknown[]}[]", ["[*].a", "[:10]"]],
  ['{"a b": number, c: string}[]', ["[*].c: string[]", '[*]["a b"]: number[]', "[:10]"]],
])("the paths of a list of the shape %s", (shape, paths) => {
  expect(pathsIn(shape)).toEqual(paths);
});

it.each<[Json, readonly string[]]>([
  [[], []],
  ["abc", ["[:500]"]],
  ["", []],
  [7, []],
  [{}, []],
  [{ a: 1, b: "x", c: true }, [".a: number", ".b: string", ".c: boolean"]],
  [{ a: [7, 8], b: [{ c: 1 }] }, [".a: number[]", ".b: object[]"]],
  [{ "a b": 1, c: 2, "d e": 3 }, [".c: number", '["a b"]: number', '["d e"]: number']],
  // Keys that no reference can contain.
  [
    { ["k".repeat(65)]: 1, "a\nb": 2, "a\rb": 3, ["k".repeat(64)]: 4 },
    [`.${"k".repeat(64)}: number`],
  ],
])("the paths of the value %j", (value, paths) => {
  expect(pathsIn(shapeOf(value), typeOfJson(value), countOf(value))).toEqual(paths);
});
