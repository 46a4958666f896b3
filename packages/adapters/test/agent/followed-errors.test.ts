import { parsedJson } from "../../../../src/value/json.ts";
import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore, variableTools, wrapTools } from "../../src/agent.ts";
import { codeIn, type ErrorCode } from "../../../../src/errors.ts";
import { bytesContent } from "../../../../src/store/bytes/content.ts";
import type { Json } from "../../../../src/value/json.ts";

type Call = { readonly tool: string; readonly input: Readonly<Record<string, Json>> };

const orders = Array.from({ length: 40 }, (_, n) => ({ id: `o${n}`, status: "open", total: n }));

const filler = Array.from({ length: 99 }, (_, n) => `line ${n}`).join("\n");

/** Creates a conversation with variables of all kinds, and tools. */
async function conversation() {
  const store = new MemoryStore();
  await store.save({ name: "orders", value: [] });
  await store.save({ name: "orders", value: orders, keepsVersion: true });
  await store.save({ name: "text", value: `one two\nthree four\nfive two\n${filler}` });
  await store.save({ name: "customer", value: { name: "Ada", city: "Oslo" } });
  await store.save({ name: "key", value: "sk-1234567", visibility: "sealed" });
  await store.save({ name: "hush", value: "sk-1234567", visibility: "secret" });
  await store.save({ name: "pin", value: 1, pinned: true });
  await store.save({ name: "bin", value: bytesContent(new Uint8Array(9), "image/png") });
  const own: ToolSet = {
    sum: tool({
      inputSchema: z.object({ numbers: z.array(z.number()) }),
      execute: ({ numbers }) => numbers.reduce((sum, one) => sum + one, 0),
    }),
    greet: tool({
      inputSchema: z.strictObject({ name: z.string().max(20) }),
      execute: ({ name }) => `Hi ${name}`,
    }),
    list_orders: tool({ inputSchema: z.object({}), execute: () => orders }),
    count: tool({
      inputSchema: z.object({ rows: z.array(z.unknown()) }),
      execute: ({ rows }) => rows.length,
    }),
    keep: tool({ inputSchema: z.object({ it: z.unknown() }), execute: () => "kept" }),
    busy: tool({
      inputSchema: z.object({ again: z.boolean().optional() }),
      execute: ({ again = false }) => {
        if (!again) throw new Error("The line is busy; call again.");
        return "ok";
      },
    }),
    forbidden: tool({ inputSchema: z.object({}), execute: () => "done" }),
  };
  const policy = ({ tool: name }: { readonly tool: string }) =>
    name === "forbidden" ? { deny: "Nobody may." } : ("allow" as const);
  const options = { store, policy, outputPath: true };
  const slow: ToolSet = {
    slow: tool({
      inputSchema: z.object({ amount: z.number() }),
      execute: ({ amount }) => (amount > 1 ? new Promise(() => undefined) : "ok"),
    }),
  };
  const wrapped = { ...wrapTools(own, options), ...wrapTools(slow, { ...options, toolMs: 50 }) };
  return { store, tools: { ...variableTools(options), ...wrapped } as ToolSet };
}

/** Returns the error, or the first note about an unresolved reference, as the model reads it; else undefined. */
async function errorOf(tools: ToolSet, { tool: name, input }: Call): Promise<string | undefined> {
  try {
    const execute = tools[name]?.execute as (input: unknown) => Promise<unknown>;
    const output = await execute(input);
    const notes = (
      output as {
        readonly unresolved?: readonly { readonly message: string; readonly code: string }[];
      }
    ).unresolved;
    return notes === undefined ? undefined : `${notes[0]?.code}: ${notes[0]?.message}`;
  } catch (error) {
    return (error as Error).message;
  }
}

const of = (tool: string, input: Call["input"] = {}): Call => ({ tool, input });
const query = (sql: string) => of("query_variables", { sql });
const edit = (name: string, edits: Json) => of("edit_variable", { name, edits });
const read = (name: string) => of("read_variable", { name });
const set = (name: string, value: Json, more = {}) => of("set_variable", { name, value, ...more });
const sum = (numbers: Json) => of("sum", { numbers });
const greet = (name: string, more = {}) => of("greet", { name, ...more });
const to = (_outputPath: string) => greet("Ada", { _outputPath });
const listed = of("list_variables");

const RECURSIVE = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r";

/** Calls that fail, and the calls that their errors lead to. */
const calls: readonly (readonly [ErrorCode, Call, next: Call])[] = [
  ["variable_not_found", greet("$customers.name"), greet("$customer.name")],
  ["variable_not_found", read("ordrs"), read("orders")],
  ["variable_not_found", read("zzz"), listed],
  ["variable_not_found", of("search_variable", { name: "zzz", query: "o1" }), listed],
  ["variable_evicted", read("list_orders_1"), of("list_orders")],
  ["variable_sealed", read("key"), of("keep", { it: "$key" })],
  ["variable_sealed", query("SELECT * FROM key"), of("keep", { it: "$key" })],
  ["variable_sealed", set("key.a", 1), set("key", 1)],
  ["variable_secret", to("$hush"), to("$another")],
  ["path_not_found", sum("$orders[*].totals"), sum("$orders[*].total")],
  ["path_not_found", sum("$orders[0:2].total"), sum("$orders[0:2][*].total")],
  ["path_not_found", sum("$orders.total"), sum("$orders[*].total")],
  ["path_not_found", greet("$customer.name.first"), greet("$customer.name")],
  ["path_not_found", read("orders[400]"), read("orders[39]")],
  ["path_not_found", read("orders[0].totl"), read("orders[0].total")],
  ["path_not_found", query("SELECT $orders.nope AS x"), query("SELECT $orders[39] AS x")],
  ["invalid_tool_input", of("count", { rows: "$order_list" }), of("count", { rows: [] })],
  ["invalid_tool_input", of("count", { rows: "$everything" }), of("count", { rows: "$orders" })],
  ["invalid_tool_input", sum("$order[*].total"), sum("$orders[*].total")],
  ["invalid_tool_input", sum("$orders"), sum("$orders[*].total")],
  ["invalid_tool_input", of("sum"), sum([])],
  ["invalid_tool_input", greet("$text"), greet("$text[:20]")],
  ["invalid_tool_input", greet("Ada", { nam: "b" }), greet("Ada")],
  ["invalid_tool_input", greet("Ada", { _outputpath: "$x" }), to("$x")],
  [
    "invalid_tool_input",
    of("read_variable", { name: "text", limit: 0 }),
    of("read_variable", { name: "text", limit: 1 }),
  ],
  ["invalid_tool_input", of("read_variable"), read("text")],
  [
    "invalid_tool_input",
    of("search_variable", { name: "text", query: "" }),
    of("search_variable", { name: "text", query: "text" }),
  ],
  ["invalid_tool_input", set("x", 1, { mode: "add" }), set("x", 1, { mode: "replace" })],
  ["invalid_tool_input", of("set_variable", { name: "x" }), set("x", "text")],
  ["invalid_tool_input", edit("text", []), edit("text", [{ find: "one", replace: "1" }])],
  [
    "invalid_tool_input",
    edit("text", [{ find: "four" }]),
    edit("text", [{ find: "four", replace: "" }]),
  ],
  ["invalid_tool_input", edit("orders[0]", "undo"), edit("orders", "undo")],
  ["bad_name", set("1x", 1), set("x", 1)],
  ["bad_name", read("orders["), read("orders")],
  ["bad_path", to("1x"), to("$name")],
  [
    "bad_path",
    of("delete_variable", { name: "customer.city" }),
    edit("customer", [{ op: "remove", path: "/city" }]),
  ],
  ["bad_alternatives", to("$a || $b && $c"), to("$a || $b || $c")],
  ["bad_value", set("orders", 1, { mode: "merge" }), set("orders", 1, { mode: "replace" })],
  ["bad_value", set("customer", 1, { mode: "append" }), set("customer", 1, { mode: "replace" })],
  ["bad_value", set("customer.name.first", 1), set("customer.name", 1)],
  ["bad_value", set("orders[99]", { id: 1 }), set("orders", { id: 1 }, { mode: "append" })],
  ...[
    { find: "Ada", replace: "Bob" },
    { where: "city = 'Rome'", set: { city: "Oslo" } },
  ].map((wrong): (typeof calls)[number] => [
    "bad_value",
    edit("customer", [wrong]),
    edit("customer", [{ op: "add", path: "/added", value: 1 }]),
  ]),
  [
    "edit_not_found",
    edit("text", [{ find: "thre fuor", replace: "3 4" }]),
    edit("text", [{ find: "three four", replace: "3 4" }]),
  ],
  ["edit_not_found", edit("text", [{ find: "xyz", replace: "3" }]), read("text")],
  [
    "edit_not_found",
    edit("customer", [{ op: "replace", path: "/town", value: 1 }]),
    edit("customer", [{ op: "replace", path: "/name", value: 1 }]),
  ],
  ["edit_not_found", edit("orders", [{ where: "id = 'zz'", set: { id: "x" } }]), read("orders")],
  [
    "edit_ambiguous",
    edit("text", [{ find: "two", replace: "2" }]),
    edit("text", [{ find: "two", replace: "2", all: true }]),
  ],
  ["edit_conflict", edit("customer", [{ op: "test", path: "/city", value: 1 }]), read("customer")],
  ["edit_conflict", edit("customer", "undo"), read("customer")],
  ["limit_exceeded", query(`SELECT 1${" ".repeat(20_000)}`), query("SELECT 1")],
  ["not_queryable", query("SELECT * FROM bin"), of("keep", { it: "$bin" })],
  ["bad_query", query("SELECT totl FROM orders"), query("SELECT total FROM orders")],
  ["bad_query", query("SELECT * FROM order"), query("SELECT * FROM orders")],
  ["bad_query", query("SELECT * FROM zzz"), query("SELECT * FROM pin")],
  ["bad_query", query("SELECT amount FROM orders"), query("SELECT id FROM orders")],
  ["bad_query", query(""), query("SELECT 1")],
  [
    "bad_query",
    edit("orders", [{ where: "ids = 'o1'", set: { status: "x" } }]),
    edit("orders", [{ where: "id = 'o1'", set: { status: "x" } }]),
  ],
  ["query_not_allowed", query("DELETE FROM orders"), query("SELECT * FROM orders")],
  ["bad_query", query("SELEC 1"), query("SELECT 1")],
  ["query_not_allowed", query("SELECT 1; SELECT 2"), query("SELECT 1")],
  [
    "query_not_allowed",
    query(`${RECURSIVE}) SELECT max(n) FROM r`),
    query(`${RECURSIVE} LIMIT 100000) SELECT max(n) FROM r`),
  ],
  [
    "query_too_expensive",
    query("SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e"),
    query("SELECT count(*) FROM orders a"),
  ],
  ["tool_failed", of("busy"), of("busy", { again: true })],
  ["tool_timeout", of("slow", { amount: 9 }), of("slow", { amount: 1 })],
];

/** Words of the next calls that a model chooses freely, or computes. */
const FREE = new Set(
  "keep it another 39 1 x text one add added edits true read_variable".split(" "),
);

const wordsOf = (call: Call): readonly string[] => JSON.stringify(call).match(/\w+/gu) ?? [];

/** Calls that nothing makes valid. */
const refusals: readonly (readonly [ErrorCode, Call])[] = [
  ["variable_secret", read("hush")],
  ["variable_secret", query("SELECT * FROM hush")],
  ["bad_name", of("delete_variable", { name: "input" })],
  ["bad_request", of("delete_variable", { name: "pin" })],
  ["tool_denied", of("forbidden")],
  ["number_not_exact", sum([parsedJson("1234567890123456789")])],
];

describe("the text of an error", () => {
  it.each(calls)("has all words of a call that is valid: %s %j", async (code, call, next) => {
    const { store, tools } = await conversation();
    if (code === "variable_evicted") {
      await errorOf(tools, of("list_orders"));
      store.evictDue(Date.now() + 1e10, 100);
    }
    const text = (await errorOf(tools, call)) ?? "";
    expect(codeIn(text)).toBe(code);
    const written = wordsOf(call);
    for (const word of wordsOf(next).filter((one) => !written.includes(one) && !FREE.has(one)))
      expect(text).toMatch(new RegExp(`\\b${word}\\b`, "u"));
    expect(await errorOf(tools, next)).toBeUndefined();
  });

  it.each(refusals)("says that a call cannot be made valid: %s %j", async (code, call) => {
    const { tools } = await conversation();
    const text = await errorOf(tools, call);
    expect(codeIn(text ?? "")).toBe(code);
    expect(text).toMatch(
      /continue without|is secret and cannot be used here|cannot be deleted|was not allowed/u,
    );
  });
});
