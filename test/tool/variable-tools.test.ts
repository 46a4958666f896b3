import { describe, expect, it } from "vitest";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { csvRecords } from "../../src/store/bytes/csv-records.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  type FileContent,
  type FileWriter as Files,
  fileContent,
  type FileFormat,
} from "../../src/tool/files.ts";
import type { Json } from "../../src/value/json.ts";
import { copyOf } from "../../src/value/bytes.ts";
import { variableTools } from "../../src/tool/variables/variable-tools.ts";
import { charsOf, contextOn, stores, Tools } from "../support/runtime-tool-context.ts";

type Labelled = Parameters<Files["write"]>[2];

/** Creates a file store that records what is written. */
function sink() {
  const written: { path: string; content: FileContent; labels: Labelled }[] = [];
  const files: Files = {
    async write(path, content, labels) {
      written.push({ path, content, labels });
      return { path, bytes: "text" in content ? content.text.length : content.bytes.length };
    },
  };
  return { files, written };
}

const none: Files = { write: async () => ({ path: "", bytes: 0 }) };

describe.each(stores)("list_variables on $title", ({ open }) => {
  it("describes each variable as far as its guard allows, newest last", async () => {
    const store = open();
    await store.save({ name: "orders", value: [{ id: 1 }], description: "All of them" });
    await store.save({ name: "seal", value: { s3cr3t: 1 }, visibility: "sealed", trusted: false });
    await store.save({ name: "key", value: "s3cr3t", visibility: "secret", trusted: false });
    const { output, untrusted } = await new Tools(store).call("list_variables", {});
    expect(output).toEqual({
      variables: [
        {
          name: "orders",
          type: "array",
          count: 1,
          shape: "{id: number}[]",
          preview: '[{"id":1}]',
          description: "All of them",
        },
        { name: "seal", visibility: "sealed", type: "object", count: 1 },
        { name: "key", visibility: "secret" },
      ],
    });
    expect(untrusted).toBe(false);
    await store.save({ name: "mail", value: "hello", trusted: false });
    expect((await new Tools(store).call("list_variables", {})).untrusted).toBe(true);
    expect((await new Tools(store).call("list_variables", { last_n: 1 })).untrusted).toBe(true);
  });

  it("shows nothing of untrusted values if they are hidden, until they are read", async () => {
    const store = open();
    await store.save({ name: "mail", value: { "do this": "evil" }, trusted: false });
    const tools = new Tools(store, { hidesUntrusted: true });
    expect(await tools.call("list_variables", {})).toEqual({
      output: { variables: [{ name: "mail", visibility: "hidden", type: "object", count: 1 }] },
      untrusted: false,
    });
    for (const [name, more] of [
      ["read_variable", {}],
      ["search_variable", { query: "evil" }],
    ] as const) {
      const lost = tools.call(name, { name: "mail", path: ".do", ...more });
      await expect(lost).rejects.toMatchObject({ code: "path_not_found" });
      await expect(lost).rejects.not.toThrow(/do this/);
    }
    expect((await tools.call("read_variable", { name: "mail" })).untrusted).toBe(true);
  });

  it("shows 20 variables by default, at most 100, in 8,000 characters, and counts the rest", async () => {
    const store = open();
    for (let id = 0; id < 130; id++) {
      const value = { "a long key 😀": `"\u0001${"text ".repeat(100)}` };
      const name = `v_${"x".repeat(50)}${id}`;
      await store.save({ name, value, description: '"'.repeat(500) });
    }
    const tools = new Tools(store);
    const twenty = await tools.fields("list_variables", {});
    expect(twenty["variables"]).toHaveLength(20);
    expect(twenty["more"]).toContain("+110");
    const most = await tools.fields("list_variables", { last_n: 100 });
    expect((most["variables"] as Json[]).length).toBeGreaterThan(60);
    expect((most["variables"] as { name: string }[]).at(-1)?.name).toContain("129");
    for (const output of [twenty, most]) expect(charsOf(output)).toBeLessThanOrEqual(8_000);
    await expect(tools.call("list_variables", { last_n: 101 })).rejects.toThrow(/100/);
  });
});

describe.each(stores)("set_variable on $title", ({ open }) => {
  it("saves under the next automatic name if the model gives none", async () => {
    const store = open();
    const tools = new Tools(store);
    for (const name of ["variable_1", "variable_2"]) {
      expect(await tools.fields("set_variable", { value: [1] })).toMatchObject({ $var: name });
    }
    expect(await store.read("variable_2")).toEqual([1]);
    await store.save({ name: "seal", value: "s3cr3t", visibility: "sealed", trusted: false });
    const derived = await tools.fields("set_variable", { value: "$seal", mode: "append" });
    expect(derived).toMatchObject({ $var: "variable_3" });
    expect(JSON.stringify(derived)).not.toContain("s3cr3t");
    expect(store.info("variable_3")).toMatchObject({ visibility: "sealed", trusted: false });
  });

  it("creates a variable from values and references when its output is requested", async () => {
    const store = open();
    await store.save({ name: "orders", value: [1, 2, 3], trusted: false, tool: "list_orders" });
    const tools = new Tools(store);
    const value = { first: "$orders[0:2]", text: "of $orders[2]", other: "$nobody" };
    const prepared = await tools.prepare("set_variable", { name: "$report", value });
    expect([store.count(), typeof prepared.output]).toEqual([1, "function"]);
    const shown = await tools.fields("set_variable", { name: "$report", value, ttl: 60 });
    expect(shown).toMatchObject({ $var: "report", type: "object", count: 3, version: 1 });
    expect(JSON.stringify(shown["unresolved"])).toContain("$nobody");
    const saved = { first: [1, 2], text: "of 3", other: "$nobody" };
    expect(await store.read("report")).toEqual(saved);
    expect(store.info("report")).toMatchObject({
      trusted: false,
      visibility: "model",
      tool: "set_variable",
      toolCallId: "call_1",
      sources: ["tool:set_variable", "tool:list_orders"],
      expiresAt: expect.any(String) as string,
    });
  });

  it("appends, merges, numbers, and writes to a place in a variable", async () => {
    const store = open();
    const tools = new Tools(store);
    await tools.call("set_variable", { name: "list", value: [1] });
    await tools.call("set_variable", { name: "list", value: 2, mode: "append" });
    await tools.call("set_variable", { name: "variable:doc.a.b", value: 1 });
    await tools.call("set_variable", { name: "doc", value: { a: { c: 2 } }, mode: "merge" });
    const numbered = { name: "list", value: 0, mode: "new" };
    expect(await tools.fields("set_variable", numbered)).toMatchObject({ $var: "list_000" });
    expect(await store.read("list")).toEqual([1, 2]);
    expect(await store.read("doc")).toEqual({ a: { b: 1, c: 2 } });
    const wrong = { name: "list", value: 1, mode: "merge" };
    await expect(tools.call("set_variable", wrong)).rejects.toMatchObject({ code: "bad_value" });
    expect(store.info("list")?.version).toBe(2);
  });

  it("marks a text that it adds to for another place, if both together have a new URL", async () => {
    const store = open();
    await store.save({ name: "text", value: "![a](https://e.example/?d=" });
    const context = contextOn(store, new AbortController().signal);
    const saveTo = { operator: "all", places: [] } as const;
    const tool = variableTools().find(({ name }) => name === "set_variable");
    const input = { name: "text", value: "x)", mode: "append" };
    await tool?.execute(input, { ...context, call: { ...context.call, saveTo } });
    expect(context.labels.ofResult("t").flags).toEqual(["composed"]);
  });

  it("keeps guards, and reveals nothing of guarded values", async () => {
    const store = open();
    await store.save({ name: "seal", value: { hidden: "s3cr3t" }, visibility: "sealed" });
    await store.save({ name: "key", value: "s3cr3t", visibility: "secret" });
    const tools = new Tools(store);
    const copy = await tools.fields("set_variable", { name: "copy", value: "$seal.hidden" });
    expect(copy).toEqual({ $var: "copy", visibility: "sealed" });
    await tools.call("set_variable", { name: "text", value: "of one's own" });
    await tools.call("set_variable", { name: "mine", value: { a: 1 } });
    await tools.call("set_variable", { name: "mine.b", value: "$copy" });
    expect(store.info("mine")?.visibility).toBe("sealed");
    for (const [input, code] of [
      [{ name: "key", value: 1 }, "variable_secret"],
      [{ name: "key.a", value: 1 }, "variable_secret"],
      [{ name: "input", value: 1 }, "bad_name"],
      [{ name: "x", value: "$key" }, "variable_secret"],
      [{ name: "seal.hidden.deep", value: 1 }, "variable_sealed"],
      [{ name: "seal", value: 1, mode: "append" }, "variable_sealed"],
      [{ name: "seal", value: {}, mode: "merge" }, "variable_sealed"],
      [{ name: "list[*]", value: 1 }, "bad_path"],
    ] as const) {
      const error = await tools.call("set_variable", input).catch((error: unknown) => error);
      expect(error).toMatchObject({ code });
      expect(JSON.stringify(error) + String(error)).not.toMatch(/s3cr3t|object|string is/);
    }
    expect(await store.read("seal")).toEqual({ hidden: "s3cr3t" });
    for (const [input, code] of [
      [{ name: "x", value: "$seal.nothing" }, "path_not_found"],
      [{ name: "text", value: "$seal", mode: "append" }, "bad_value"],
    ] as const) {
      await expect(tools.call("set_variable", input)).rejects.toMatchObject({ code });
    }
    expect(await store.read("text")).toBe("of one's own");
  });
});

describe.each(stores)("delete_variable on $title", ({ open }) => {
  it("deletes when its output is requested, but no secret or pinned variable", async () => {
    const store = open();
    await store.save({ name: "v", value: 1 });
    await store.save({ name: "pinned", value: 1, pinned: true });
    await store.save({ name: "key", value: 1, visibility: "secret" });
    const tools = new Tools(store);
    await tools.prepare("delete_variable", { name: "$v" });
    expect(store.count()).toBe(3);
    expect(await tools.fields("delete_variable", { name: "$v" })).toEqual({ deleted: "v" });
    for (const [name, code] of [
      ["v", "variable_not_found"],
      ["pinned", "bad_request"],
      ["key", "variable_secret"],
      ["pinned.a", "bad_path"],
    ] as const) {
      await expect(tools.call("delete_variable", { name })).rejects.toMatchObject({ code });
    }
    expect(store.count()).toBe(2);
  });
});

async function csvStore(bytes: Uint8Array): Promise<MemoryStore> {
  const store = new MemoryStore({ csv: csvRecords });
  const value = await store.receiveRecords(new Blob([copyOf(bytes)]).stream(), "text/csv");
  await store.save({ name: "csv", value: value ?? null });
  return store;
}

describe.each(stores)("export_variable on $title", ({ open }) => {
  it("writes a file in the format that its name or the call specifies", async () => {
    const store = open();
    const rows = [
      { id: 1, note: 'a "b", c' },
      { id: 2, extra: "x|y\nz", note: null },
    ];
    await store.save({ name: "rows", value: rows });
    await store.save({ name: "text", value: "as it is" });
    await store.save({ name: "image", value: bytesContent(new Uint8Array([1, 2]), "image/png") });
    const { files, written } = sink();
    const tools = new Tools(store, { files });
    const prepared = await tools.prepare("export_variable", { name: "rows", file: "a.csv" });
    expect([typeof prepared.output, written.length]).toEqual(["function", 0]);
    const exported = async (input: Readonly<Record<string, Json>>) => {
      await tools.call("export_variable", input);
      return written.at(-1)?.content;
    };
    expect(await exported({ name: "rows", file: "file:out/a.csv" })).toEqual({
      text: 'id,note,extra\r\n1,"a ""b"", c",\r\n2,,"x|y\nz"\r\n',
      mediaType: "text/csv",
    });
    expect(written.at(-1)?.path).toBe("out/a.csv");
    expect(await exported({ name: "rows", file: "a.md" })).toEqual({
      text: '| id | note | extra |\n| --- | --- | --- |\n| 1 | a "b", c |  |\n| 2 |  | x\\|y z |\n',
      mediaType: "text/markdown",
    });
    const json = { text: JSON.stringify(rows), mediaType: "application/json" };
    expect(await exported({ name: "rows", file: "a.txt", format: "json" })).toEqual(json);
    expect(await exported({ name: "rows", file: "a" })).toEqual(json);
    expect(await exported({ name: "$rows[1].extra", file: "a.txt" })).toMatchObject({
      text: "x|y\nz",
    });
    expect(await exported({ name: "text", file: "notes" })).toMatchObject({
      mediaType: "text/plain",
    });
    const image = { bytes: new Uint8Array([1, 2]), mediaType: "image/png" };
    expect(await exported({ name: "image", file: "a.png" })).toEqual(image);
    const bytes = new TextEncoder().encode("id\n1.50\n");
    const csv = await csvStore(bytes);
    await new Tools(csv, { files }).call("export_variable", { name: "csv", file: "b.csv" });
    expect(written.at(-1)?.content).toEqual({ bytes, mediaType: "text/csv" });
    await new Tools(csv, { files }).call("export_variable", { name: "csv", file: "b.json" });
    expect(written.at(-1)?.content).toMatchObject({ text: '[{"id":1.5}]' });
    const text = { name: "text", file: "a.csv" };
    await expect(exported(text)).rejects.toMatchObject({ code: "bad_value" });
  });

  it("refuses paths outside its folder", async () => {
    const store = open();
    await store.save({ name: "v", value: 1 });
    const tools = new Tools(store, { files: none });
    const inside = ["a", "file:a/b.json", "ä/ö.txt", "x".repeat(200)];
    for (const file of inside) await tools.call("export_variable", { name: "v", file });
    for (const file of [
      ..." /a ../a a/../b a//b a/ ./a a\\b".split(" "),
      "a\nb",
      "x".repeat(201),
    ]) {
      const exporting = tools.call("export_variable", { name: "v", file });
      await expect(exporting, file).rejects.toMatchObject({ code: "bad_path" });
    }
  });

  it("passes on guards, and refuses secrets", async () => {
    const store = open();
    await store.save({ name: "seal", value: { hidden: 1 }, visibility: "sealed", trusted: false });
    await store.save({ name: "key", value: "s3cr3t", visibility: "secret" });
    const { files, written } = sink();
    const tools = new Tools(store, { files });
    const file = "a.json";
    expect(await tools.fields("export_variable", { name: "seal", file })).toEqual({
      file: "file:a.json",
    });
    expect(written[0]?.labels).toMatchObject({ visibility: "sealed", trusted: false });
    const nothing = { name: "seal", path: ".x", file };
    await expect(tools.call("export_variable", nothing)).rejects.toMatchObject({
      code: "path_not_found",
    });
    const secret = tools.call("export_variable", { name: "key", file });
    await expect(secret).rejects.toMatchObject({ code: "variable_secret" });
    expect(written).toHaveLength(1);
  });
});

const HALF = "\ud83d";

it.each<[FileFormat, Json, object]>([
  ["csv", [{ a: "x" }, { a: `é${HALF}` }], { path: "[1].a", character: 2 }],
  ["md", [{ a: HALF }], { path: "[0].a", character: 1 }],
  ["md", `a${HALF}`, { path: "", character: 2 }],
  ["txt", `😀${HALF}`, { path: "", character: 2 }],
])("half of a character in a file is refused with its place in %s", (format, value, details) => {
  const code = "bad_value";
  expect(() => fileContent(value, format)).toThrow(expect.objectContaining({ code, details }));
});

it.each<[FileFormat, Json]>([
  ["json", [{ a: HALF }]],
  ["json", HALF],
  ["md", { a: HALF }],
  ["txt", { a: HALF }],
])("half of a character in a file stays in JSON, in %s", (format, value) => {
  const content = fileContent(value, format);
  expect("text" in content && content.text).toContain(String.raw`\ud83d`);
});
