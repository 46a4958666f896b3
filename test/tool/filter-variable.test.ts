import { describe, expect, it } from "vitest";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { filterVariable } from "../../src/tool/variables/filter-variable.ts";
import { type SaveTarget, saveTargetIn } from "../../src/tool/save-target.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { wrapRuntimeTool } from "../../src/tool/wrap-runtime-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { migratedSql } from "../support/node-sql.ts";
import { charsOf, stores, Tools } from "../support/runtime-tool-context.ts";

const NAME = "filter_variable";

const orders: Json = [
  { id: 1, status: "open", total: 5, at: "2025-01-05", tags: ["a", "b"], to: { city: "NYC" } },
  { id: 2, status: "shut", total: 50, at: "2025-02-01", tags: [], to: { city: "Rome" } },
  { id: 3, status: "open", total: "50", at: null, to: null },
  { id: 4, total: 500, at: "2025-11-30", tags: [{ x: 1, y: 2 }], "sales area": "EU" },
];

async function toolsWith(value: Json, name = "v") {
  const store = new MemoryStore();
  await store.save({ name, value });
  return new Tools(store);
}

/** The elements of `v` that are kept. */
async function kept(tools: Tools, where: Json, more: Readonly<Record<string, Json>> = {}) {
  await tools.call(NAME, { name: "v", where, saveAs: "kept", ...more });
  return (await tools.store.read("kept")) as readonly Json[];
}

async function keptIds(where: Json): Promise<readonly Json[]> {
  const elements = await kept(await toolsWith(orders), where);
  return elements.map((element) => (element as { id: number }).id);
}

describe("the conditions of filter_variable", () => {
  it.each<[string, Json, readonly number[]]>([
    ["a value", { status: "open" }, [1, 3]],
    ["a value, typed", { total: 50 }, [2]],
    ["eq", { total: { eq: "50" } }, [3]],
    ["eq, deep, whatever the order of keys", { "tags[0]": { eq: { y: 2, x: 1 } } }, [4]],
    ["ne, also where it is missing", { status: { ne: "open" } }, [2, 4]],
    ["gt", { total: { gt: 50 } }, [4]],
    ["gte", { total: { gte: 50 } }, [2, 4]],
    ["lt", { total: { lt: 50 } }, [1]],
    ["lte", { total: { lte: 50 } }, [1, 2]],
    ["two operators", { at: { gte: "2025-02-01", lt: "2025-03" } }, [2]],
    ["texts by their characters", { total: { lt: "6" } }, [3]],
    ["in", { id: { in: [4, 2, "1"] } }, [2, 4]],
    ["in, deep", { to: { in: [{ city: "Rome" }] } }, [2]],
    ["in nothing", { id: { in: [] } }, []],
    ["contains, in a text", { status: { contains: "hu" } }, [2]],
    ["contains, in an array", { tags: { contains: "b" } }, [1]],
    ["contains, deep", { tags: { contains: { x: 1, y: 2 } } }, [4]],
    ["exists", { status: { exists: true } }, [1, 2, 3]],
    ["exists, a null too", { to: { exists: true } }, [1, 2, 3]],
    ["exists not", { to: { exists: false } }, [4]],
    ["null, also where it is missing", { to: null }, [3, 4]],
    ["ne null: what is set", { to: { ne: null } }, [1, 2]],
    ["in with null, also where it is missing", { status: { in: [null, "shut"] } }, [2, 4]],
    ["a path", { "to.city": "NYC" }, [1]],
    ["a path of JSONPath", { "$.to.city": "Rome" }, [2]],
    ["a path with quotes", { '["sales area"]': "EU" }, [4]],
    ["a key that is no path", { "sales area": "EU" }, [4]],
    ["all that hold", { status: "open", total: { lte: 5 } }, [1]],
    ["none", {}, [1, 2, 3, 4]],
    ["a prototype's key", { constructor: { exists: true } }, []],
    ["an operator of another type", { status: { gt: 1 } }, []],
    ["contains in what holds nothing", { total: { contains: 5 } }, []],
  ])("%s", async (_title, where, ids) => {
    expect(await keptIds(where)).toEqual(ids);
  });

  it("are about the element itself where it is no object", async () => {
    const tools = await toolsWith([3, 10, "10", null, [1, 7]]);
    expect(await kept(tools, { $: { gte: 4 } })).toEqual([10]);
    expect(await kept(tools, { "[1]": 7 })).toEqual([[1, 7]]);
    expect(await kept(tools, { "$[0]": { exists: true } })).toEqual([[1, 7]]);
  });

  it("compare with what a reference stands for, which is a value and no condition", async () => {
    const tools = await toolsWith([{ a: 1 }, { a: 5 }, { a: { gt: 0 } }]);
    await tools.store.save({ name: "limit", value: 2 });
    await tools.store.save({ name: "ids", value: [5, 6] });
    await tools.store.save({ name: "object", value: { gt: 0 } });
    expect(await kept(tools, { a: { gt: "$limit" } })).toEqual([{ a: 5 }]);
    expect(await kept(tools, { a: { in: "$ids" } })).toEqual([{ a: 5 }]);
    expect(await kept(tools, { a: "$object" })).toEqual([{ a: { gt: 0 } }]);
    const { output } = await tools.call(NAME, { name: "v", where: { a: "$nobody" }, saveAs: "x" });
    expect(output).toMatchObject({ $var: "x", value: [], unresolved: [{ reference: "$nobody" }] });
    const lost = tools.call(NAME, { name: "v", where: { a: "$limit.x" }, saveAs: "x" });
    await expect(lost).rejects.toMatchObject({ code: "path_not_found" });
  });

  it.each<[string, Json, string]>([
    ["an operator", { a: { $gt: 1 } }, "where.a.$gt is no operator; use eq, ne, gt"],
    ["no operator", { a: {} }, "where.a has no operator"],
    ["an array", { a: [1] }, "where.a is an array; write {in: […]}"],
    ["in", { a: { in: 1 } }, "where.a.in must be an array"],
    ["exists", { a: { exists: "yes" } }, "where.a.exists must be true or false"],
    ["gt", { a: { gt: null } }, "where.a.gt must be a number or a text"],
    ["a field", { "a..b": 1 }, "where.a..b is no field; write e.g."],
    ["an empty field", { "": 1 }, "where. is no field"],
    ["too much", Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`f${at}`, 1])), "50"],
  ])("say where they are wrong: %s", async (_title, where, message) => {
    const failing = kept(await toolsWith(orders), where);
    await expect(failing).rejects.toMatchObject({
      code: "invalid_tool_input",
      message: expect.stringContaining(message) as string,
    });
  });
});

describe.each(stores)("filter_variable on $title", ({ open }) => {
  it("saves a new variable when its output is asked for, and shows it as any result", async () => {
    const store = open();
    await store.save({ name: "v", value: { orders } });
    const tools = new Tools(store);
    const input = { name: "$v", path: "orders", where: { status: "open" }, saveAs: "$open" };
    const prepared = await tools.prepare(NAME, input);
    expect([store.count(), prepared.untrusted]).toEqual([1, false]);
    expect(await tools.fields(NAME, input)).toMatchObject({ $var: "open", value: [{}, { id: 3 }] });
    expect(store.info("open")).toMatchObject({
      type: "array",
      count: 2,
      tool: NAME,
      input,
      toolCallId: "call_1",
      sources: expect.arrayContaining([`tool:${NAME}`]) as string[],
      trusted: true,
    });
    const none = { name: "v.orders", where: { status: "lost" }, saveAs: "open" };
    expect(await tools.fields(NAME, none)).toEqual({ $var: "open", value: [] });
    expect(store.info("open")?.version).toBe(2);
  });

  it("tells which call makes an evicted result again", async () => {
    const store = open();
    await store.save({ name: "v", value: orders, pinned: true });
    const tools = new Tools(store);
    const input = { name: "v", where: { total: { gt: 50 } }, saveAs: "large" };
    await tools.call(NAME, input);
    store.evictDue(Date.now() + 400 * 86_400_000, 10);
    const answer = await lookupInStore(store)({ name: "large", path: [] });
    expect(answer).toMatchObject({ reason: "evicted", tombstone: { tool: NAME, input } });
    await tools.call(NAME, input);
    expect(await store.read("large")).toHaveLength(1);
  });

  it("narrows a variable in its own place, and does not say that it could do so again", async () => {
    const store = open();
    await store.save({ name: "v", value: [1, 2, 3] });
    await new Tools(store).call(NAME, { name: "v", where: { $: { gt: 1 } }, saveAs: "v" });
    expect(await store.read("v")).toEqual([2, 3]);
    expect(store.info("v")?.input).toBeUndefined();
  });

  it("refuses what is no array, what cannot be written, and secrets", async () => {
    const store = open();
    await store.save({ name: "v", value: { list: [1], text: "abc" } });
    await store.save({ name: "image", value: bytesContent(new Uint8Array(3), "image/png") });
    await store.save({ name: "key", value: ["s3cr3t"], visibility: "secret" });
    const tools = new Tools(store);
    for (const [input, code] of [
      [{ name: "v" }, "bad_value"],
      [{ name: "v.text" }, "bad_value"],
      [{ name: "v", path: "lost" }, "path_not_found"],
      [{ name: "image" }, "bad_value"],
      [{ name: "key" }, "variable_secret"],
      [{ name: "nobody" }, "variable_unknown"],
      [{ name: "v.list", where: { $: "$key" } }, "variable_secret"],
      [{ name: "v.list", saveAs: "key" }, "variable_secret"],
      [{ name: "v.list", saveAs: "input" }, "bad_name"],
      [{ name: "v.list", saveAs: "a.b" }, "bad_path"],
      [{ name: "v.list", saveAs: "a b" }, "bad_name"],
    ] as const) {
      const call = tools.call(NAME, { where: {}, saveAs: "x", ...input });
      await expect(call, JSON.stringify(input)).rejects.toMatchObject({ code });
    }
    expect(store.count()).toBe(3);
  });

  it("runs on nothing sealed, and compares with nothing sealed", async () => {
    const store = open();
    await store.save({ name: "seal", value: [{ a: "s3cr3t" }], visibility: "sealed", tool: "t" });
    await store.save({ name: "v", value: [{ a: "s3cr3t" }, { a: 1 }] });
    await store.save({ name: "word", value: "s3cr3t", visibility: "sealed", sources: ["caller"] });
    const tools = new Tools(store);
    for (const input of [
      { name: "seal", where: { a: { contains: "s3" } } },
      { name: "seal", path: "[0].nope", where: {} },
      { name: "v", where: { a: "$word" } },
      { name: "v", where: { a: { gt: "$word[9]" } } },
      { name: "v", where: { a: "$word.nope" } },
    ]) {
      const call = tools.call(NAME, { ...input, saveAs: "one" });
      await expect(call).rejects.toMatchObject({ code: "variable_sealed" });
    }
    expect(store.count()).toBe(3);
  });

  it("marks what is not trusted, and hides it where that is asked for", async () => {
    const store = open();
    await store.save({ name: "v", value: ["mail"], trusted: false, sources: ["mcp:mail"] });
    const input = { name: "v", where: {}, saveAs: "x" };
    const shown = await new Tools(store).call(NAME, input);
    expect(shown).toMatchObject({ untrusted: true, output: { value: ["mail"], untrusted: true } });
    expect(store.info("x")).toMatchObject({
      trusted: false,
      sources: expect.arrayContaining(["mcp:mail"]) as string[],
    });
    expect(await new Tools(store, { hidesUntrusted: true }).call(NAME, input)).toEqual({
      untrusted: false,
      output: { $var: "x", visibility: "hidden", type: "array", count: 1 },
    });
  });
});

describe("a call of filter_variable", () => {
  const call = { toolCallId: "c", messages: [], signal: new AbortController().signal };

  async function prepared(store: MemoryStore, input: Json, saveTo?: SaveTarget) {
    const wrapped = await wrapRuntimeTool(filterVariable, { store });
    return wrapped.prepare(input, saveTo === undefined ? call : { ...call, saveTo });
  }

  it("whose own result goes somewhere puts there what was kept", async () => {
    const store = new MemoryStore();
    await store.save({ name: "v", value: [1, 2, 3], trusted: false });
    const input = { name: "v", where: { $: { gt: 1 } }, saveAs: "x" };
    const ready = await prepared(store, input, saveTargetIn("$other"));
    const done = ready.kind === "ready" ? await ready.run() : ready;
    if (done.kind === "done") await done.save();
    expect(await store.read("other")).toEqual([2, 3]);
    expect(store.info("other")).toMatchObject({ trusted: false, input });
  });

  it("that fails tells nothing of what is sealed", async () => {
    const store = new MemoryStore();
    await store.save({ name: "v", value: { hidden: "text" }, visibility: "sealed" });
    for (const path of [".hidden", ".lost"]) {
      const ready = await prepared(store, { name: "v", path, where: {}, saveAs: "x" });
      const done = ready.kind === "ready" ? await ready.run() : ready;
      expect(done).toEqual({
        kind: "failed",
        code: "variable_sealed",
        message: "$v is sealed: its value is not shown. It can be passed to tools as a reference.",
      });
    }
  });
});

describe("the cost of filter_variable", () => {
  it("is that of one look at each of 100,000 elements", async () => {
    const rows = Array.from({ length: 100_000 }, (_, id) => ({ id, even: id % 2 === 0 }));
    const tools = await toolsWith(rows);
    const ids = rows.flatMap(({ id }) => (id % 4 === 0 ? [id] : []));
    await tools.store.save({ name: "ids", value: ids });
    const elements = await kept(tools, { even: true, id: { in: "$ids", gte: 50_000 } });
    expect(elements).toHaveLength(12_500);
    const shown = await tools.fields(NAME, { name: "v", where: { even: true }, saveAs: "even" });
    expect(charsOf(shown)).toBeLessThan(1_000);
    expect(shown).toMatchObject({
      count: 50_000,
      try: ["$even[0].id", "$even[*].even", "$even[:10]"],
    });
  });

  it("is bounded: more than 32 MiB are filtered in parts, and what is kept fits a value", async () => {
    const store = new SqlStore(migratedSql());
    const line = (id: number) => `{"id":${id},"text":"${"x".repeat(1_000_000)}"}\n`;
    const lines = Array.from({ length: 36 }, (_, id) => line(id));
    const stream = new Blob(lines).stream();
    await store.save({ name: "v", value: await store.receive(stream, "application/x-ndjson") });
    const tools = new Tools(store);
    const where = { id: { gte: 30, lt: 33 } };
    const whole = kept(tools, where);
    await expect(whole).rejects.toMatchObject({
      code: "limit_exceeded",
      message: expect.stringMatching(/with path \[0:3\d\]/) as string,
    });
    expect(await kept(tools, where, { path: "[25:]" })).toHaveLength(3);
    // More than one value may have.
    await expect(kept(tools, {}, { path: "[:20]" })).rejects.toMatchObject({
      code: "limit_exceeded",
    });
  });
});
