import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Json } from "../../src/value/json.ts";
import { CountedSql, MIB } from "../contract/store-fixture.ts";
import { charsOf, stores, Tools } from "../support/runtime-tool-context.ts";
import { sampled, samples, slow } from "../support/slow.ts";

type Fields = Readonly<Record<string, Json>>;
const MAX = 8_000;

async function toolsWith(value: Json, store = new MemoryStore()) {
  await store.save({ name: "v", value });
  return new Tools(store);
}

function read(tools: Tools, input: Readonly<Record<string, Json>>): Promise<Fields> {
  return tools.fields("read_variable", { name: "v", ...input });
}

/** Returns the whole value, joined from the pieces that the calls in `next` and `after` return. */
async function walked(tools: Tools, input: Fields): Promise<Json> {
  const piece = await read(tools, input);
  expect(charsOf(piece)).toBeLessThanOrEqual(MAX);
  const { next, after, value, type, offset, keys } = piece;
  if (keys !== undefined) return walkedKeys(tools, input, piece);
  const isWhole = next === undefined && offset === undefined;
  if (isWhole && after === undefined) return value ?? null;
  const isPieceOfAsked = after === undefined;
  if (isPieceOfAsked && type === "string") {
    const rest = next === undefined ? "" : await walked(tools, next as Fields);
    return `${value as string}${rest as string}`;
  }
  if (isPieceOfAsked && value !== undefined) {
    const rest = next === undefined ? [] : await walked(tools, next as Fields);
    return [...(value as Json[]), ...(rest as Json[])];
  }
  // An element that is too large on its own.
  const element =
    type === "string"
      ? `${value as string}${next === undefined ? "" : ((await walked(tools, next as Fields)) as string)}`
      : await walked(tools, next as Fields);
  const behind = after === undefined ? [] : await walked(tools, after as Fields);
  return [element, ...(behind as Json[])];
}

async function walkedKeys(tools: Tools, input: Fields, piece: Fields): Promise<Json> {
  const entries: [string, Json][] = [];
  for (const key of Object.keys(piece["keys"] as Fields)) {
    const path = `${(input["path"] as string | undefined) ?? ""}[${JSON.stringify(key)}]`;
    entries.push([key, await walked(tools, { name: input["name"] ?? "v", path })]);
  }
  const rest = piece["next"] === undefined ? {} : await walked(tools, piece["next"] as Fields);
  return { ...Object.fromEntries(entries), ...(rest as Fields) };
}

describe.each(stores)("read_variable on $title", ({ open }) => {
  it("shows a small value whole, however it is named", async () => {
    const tools = new Tools(open());
    await tools.store.save({ name: "orders", value: [{ id: 7, tags: ["a"] }] });
    const whole = {
      reference: "$orders",
      type: "array",
      count: 1,
      value: [{ id: 7, tags: ["a"] }],
    };
    for (const name of ["orders", "$orders", "${orders}", "variable:orders", " orders "]) {
      expect(await tools.fields("read_variable", { name })).toEqual(whole);
    }
    const id = { reference: "$orders[0].id", type: "number", value: 7 };
    expect(await tools.fields("read_variable", { name: "$orders[0].id" })).toEqual(id);
    expect(await tools.fields("read_variable", { name: "$orders[0]", path: ".id" })).toEqual(id);
    expect(await tools.fields("read_variable", { name: "orders[0]", path: "id" })).toEqual(id);
    expect(await tools.fields("read_variable", { name: "orders", path: "$[0].id" })).toEqual(id);
  });

  it("shows 7,999 and 8,000 characters whole, and cuts 8,001", async () => {
    const frame = charsOf({ reference: "$v", type: "string", count: 1_234, value: "" });
    for (const [chars, isWhole] of [
      [7_999, true],
      [8_000, true],
      [8_001, false],
    ] as const) {
      const text = "x".repeat(chars - frame);
      const store = open();
      await store.save({ name: "v", value: text });
      const piece = await read(new Tools(store), {});
      expect(piece["next"] === undefined).toBe(isWhole);
      expect(piece["value"] === text).toBe(isWhole);
      expect(charsOf(piece)).toBeLessThanOrEqual(MAX);
      if (isWhole) expect(charsOf(piece)).toBe(chars);
    }
  });

  it("continues in pieces of the requested size", async () => {
    const store = open();
    await store.save({ name: "v", value: [0, 1, 2, 3, 4, 5, 6] });
    const tools = new Tools(store);
    const piece = await read(tools, { path: "[1:6]", offset: 1, limit: 2 });
    expect(piece).toMatchObject({ value: [2, 3], offset: 1, count: 5 });
    expect(piece["next"]).toEqual({ name: "v[1:6]", offset: 3, limit: 2 });
    expect(await walked(tools, { limit: 2 })).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await read(tools, { offset: 9 })).toMatchObject({ value: [], count: 7 });
  });

  it("names the element of [*] that is too large to be shown", async () => {
    const store = open();
    const long = "z".repeat(9_000);
    await store.save({ name: "v", value: [{ a: 1 }, { b: 1 }, { a: long }, { a: 2 }] });
    const tools = new Tools(store);
    expect(await read(tools, { path: "[*].a", offset: 1 })).toMatchObject({
      reference: "$v[2].a",
      after: { name: "v[*].a", offset: 2 },
    });
    expect(await walked(tools, { path: "[*].a" })).toEqual([1, long, 2]);
  });

  it("describes bytes", async () => {
    const store = open();
    await store.save({ name: "v", value: bytesContent(new Uint8Array(9), "image/png") });
    const piece = await read(new Tools(store), {});
    expect(piece).toMatchObject({ type: "bytes", bytes: 9, mediaType: "image/png" });
  });

  it("shows nothing of guarded, evicted or unknown variables", async () => {
    const store = open();
    await store.save({ name: "key", value: { hidden: "s3cr3t" }, visibility: "secret" });
    await store.save({ name: "seal", value: { hidden: "s3cr3t" }, visibility: "sealed" });
    await store.save({ name: "orders", value: 1, run: "r", tool: "list_orders", input: { a: 1 } });
    store.endRun("r");
    await store.save({ name: "weather", value: 1 });
    const tools = new Tools(store);
    for (const [name, code, said] of [
      ["key", "variable_secret", "secret"],
      ["seal", "variable_sealed", "sealed"],
      ["$seal.nothing", "variable_sealed", "sealed"],
      ["orders", "variable_evicted", 'list_orders({"a":1})'],
      ["wether", "variable_not_found", "Did you mean weather?"],
    ] as const) {
      const error = await tools.call("read_variable", { name }).catch((error: unknown) => error);
      expect(error).toMatchObject({ code });
      expect(String(error)).toContain(said);
      expect(JSON.stringify(error) + String(error)).not.toMatch(/s3cr3t|hidden/);
    }
  });

  it("suggests a key if a path leads nowhere, and refuses invalid paths", async () => {
    const store = open();
    await store.save({ name: "v", value: { total: 1 } });
    const tools = new Tools(store);
    await expect(read(tools, { path: ".totl" })).rejects.toMatchObject({
      code: "path_not_found",
      message: expect.stringContaining("Did you mean total?") as string,
    });
    await store.save({ name: "w", value: { total: 1 }, trusted: false });
    await expect(tools.call("read_variable", { name: "w.totl" })).rejects.toMatchObject({
      code: "path_not_found",
      message: "$w.totl leads nowhere. read_variable shows what w has.",
    });
    await expect(read(tools, { path: "a b" })).rejects.toMatchObject({ code: "bad_path" });
    await expect(read(tools, { path: `["${"k".repeat(5_000)}"]` })).rejects.toMatchObject({
      code: "bad_path",
    });
    await expect(tools.call("read_variable", { name: "a b" })).rejects.toMatchObject({
      code: "bad_name",
    });
    await expect(read(tools, { path: ".total", offset: 1 })).rejects.toMatchObject({
      code: "invalid_tool_input",
    });
  });
});

it("read_variable of any value returns pieces that add up to the value", sampled, async () => {
  const key = fc.string({ maxLength: 12, unit: "grapheme" }).filter((key) => !/[\r\n]/.test(key));
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.string({ maxLength: 30, unit: "binary" }),
      fc.string({ maxLength: 30 }).map((text) => text.repeat(500)),
      fc.integer(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 6 }),
      fc
        .array(fc.record({ id: fc.integer() }), { maxLength: 5 })
        .map((rows) => Array.from({ length: 200 }, () => rows).flat()),
      fc.dictionary(key, tie("value"), { maxKeys: 5, noNullPrototype: true }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(value, async (value) => {
      const copy = JSON.parse(JSON.stringify(value)) as Json;
      const tools = await toolsWith(copy);
      expect(await walked(tools, {})).toEqual(copy);
    }),
    { numRuns: samples(150) },
  );
});

it("read_variable loads only the part of a large value that it shows", slow, async () => {
  const sql = new CountedSql();
  migrate(sql);
  const store = new SqlStore(sql, {});
  const records = Array.from(
    { length: 60_000 },
    (_, id) => `{"id":${id},"text":"${"x".repeat(120)}"}\n`,
  );
  const received = await store.receive(
    new Blob([records.join("")]).stream(),
    "application/x-ndjson",
  );
  await store.save({ name: "v", value: received });
  await store.save({ name: "text", value: "😀abc".repeat(1_000_000) });
  const tools = new Tools(store);
  const before = sql.bytesRead;
  const rows = await read(tools, { offset: 50_000, limit: 3 });
  expect((rows["value"] as { id: number }[]).map(({ id }) => id)).toEqual([50_000, 50_001, 50_002]);
  const element = await read(tools, { path: "[40000].text", offset: 100 });
  expect(element["value"]).toBe("x".repeat(20));
  const text = await tools.fields("read_variable", { name: "text", offset: 2_000_001, limit: 5 });
  expect(text["value"]).toBe("abc😀a");
  expect(sql.bytesRead - before).toBeLessThan(6 * MIB);
});
