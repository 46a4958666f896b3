import { describe, expect, it, afterEach, beforeEach } from "vitest";
import { MemoryStore, summaryOf, variableTools, sqliteStore, wrapTools } from "../../src/agent.ts";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import * as z from "zod";
import { slow } from "../../../../test/support/slow.ts";

const orders = Array.from({ length: 500 }, (_, index) => ({ id: `ord_${index}`, total: index }));

async function storeWith(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.save({ name: "orders", value: orders, tool: "list_orders" });
  await store.save({ name: "note", value: "Call Ada." });
  await store.save({ name: "key", value: "s3cret", visibility: "sealed" });
  return store;
}

/** Calls one of the tools without messages, and returns its output. */
async function called(store: MemoryStore, name: string, input: object): Promise<unknown> {
  const tools: Record<string, { execute?: (...given: never[]) => unknown }> = variableTools({
    store,
  });
  const { execute } = tools[name] ?? {};
  if (execute === undefined) throw new Error(`There is no ${name}.`);
  return (execute as (input: object) => unknown)(input);
}

describe("variableTools", () => {
  it("read, list, set and delete without messages", async () => {
    const store = await storeWith();
    const read = await called(store, "read_variable", { name: "orders", path: "[7].total" });
    expect(JSON.stringify(read)).toContain("7");
    expect(JSON.stringify(await called(store, "list_variables", {}))).toContain("orders");
    await called(store, "set_variable", { name: "first", value: "$orders[0].id" });
    expect(store.info("first")?.preview).toContain("ord_0");
    await called(store, "delete_variable", { name: "first" });
    expect(store.info("first")).toBeUndefined();
  });

  it("query and edit records with Node's SQLite", async () => {
    const store = await storeWith();
    const sql = "SELECT sum(total) AS n FROM orders WHERE total < 10";
    expect(await called(store, "query_variables", { sql })).toMatchObject({ value: [{ n: 45 }] });
    const edits = [{ where: "id = 'ord_7'", set: { total: "$orders_query_1[0].n" } }];
    await called(store, "edit_variable", { name: "orders", edits });
    expect(await called(store, "query_variables", { sql })).toMatchObject({ value: [{ n: 38 }] });
    expect(await store.read("orders")).toEqual(orders.with(7, { id: "ord_7", total: 45 }));
    await called(store, "edit_variable", { name: "orders", edits: "undo" });
    expect(await called(store, "query_variables", { sql })).toMatchObject({ value: [{ n: 45 }] });
    for (const [name, input] of [
      ["query_variables", { sql: "SELECT * FROM key" }],
      ["edit_variable", { name: "key", edits }],
      ["read_variable", { name: "key" }],
    ] as const) {
      await expect(called(store, name, input)).rejects.toMatchObject({ code: "variable_sealed" });
    }
  });
});

it("summaryOf describes variables in Markdown, without values", async () => {
  const store = await storeWith();
  const summary = summaryOf(store);
  expect(summary).toMatch(/^# Variables Summary/u);
  const headings = Array.from(summary.matchAll(/^## (\w+)$/gmu), ([, name]) => name);
  expect(headings).toEqual(["orders", "note", "key"]);
  expect(summary).not.toContain("s3cret");
  expect(summary).not.toContain("ord_250");
});

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "store-"));
  file = join(folder, "variables.sqlite");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("keeps variables from one process to the next, large ones too", slow, async () => {
  const large = "0123456789".repeat(1_200_000);
  const first = sqliteStore(file);
  await first.save({ name: "orders", value: [{ id: "a" }, { id: "b" }] });
  await first.save({ name: "page", value: large });
  first.close();
  const second = sqliteStore(file);
  expect(second.list().map(({ name }) => name)).toEqual(["orders", "page"]);
  expect((await second.read("page")) === large).toBe(true);
  const take = tool({
    inputSchema: z.object({ id: z.string() }),
    execute: ({ id }) => `It is ${id}.`,
  });
  const { execute } = wrapTools({ take }, { store: second }).take;
  const output = await execute(
    { id: "$orders[1].id" },
    { toolCallId: "1", messages: [], context: {} },
  );
  expect(output).toMatchObject({ value: "It is b." });
  second.close();
});

it(
  "has one owner: another process gets an error that the file is in use, and may open it afterwards",
  slow,
  async () => {
    const store = sqliteStore(file);
    await store.save({ name: "a", value: 1 });
    const other = () =>
      execFileSync(
        process.execPath,
        [
          "--input-type=module",
          "-e",
          `import { sqliteStore } from ${JSON.stringify(new URL("../../src/agent.ts", import.meta.url).href)};
         try { console.log(sqliteStore(${JSON.stringify(file)}).list().length); }
         catch (error) { console.log(error.code, error.message); }`,
        ],
        { encoding: "utf8" },
      );
    expect(other()).toContain(`conflict ${file} is in use by another process`);
    await store.save({ name: "b", value: 2 });
    store.close();
    expect(other().trim()).toBe("2");
  },
);
