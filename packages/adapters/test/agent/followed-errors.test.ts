import { type Json, parsedJson } from "../../../../src/value/json.ts";
import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore, variableTools, wrapTools } from "../../src/agent.ts";
import { codeIn, errorCodes, type ErrorCode } from "../../../../src/errors.ts";
import { readOnly } from "../../../../src/store/names.ts";
import { noSuchTool } from "../../../../src/tool/policy.ts";
import { bytesContent } from "../../../../src/store/bytes/content.ts";

/** A call, as a model writes it. */
interface Call {
  readonly tool: string;
  readonly input: Readonly<Record<string, Json>>;
}

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
const read = (name: string) => of("read_variable", { name });
const sum = (numbers: Json) => of("sum", { numbers });
const greet = (name: string, more: Call["input"] = {}) => of("greet", { name, ...more });
const set = (name: string, value?: Json, mode?: string) =>
  of("set_variable", { name, ...(value !== undefined && { value }), ...(mode && { mode }) });
const edit = (name: string, edits: Json) => of("edit_variable", { name, edits });

/** A code, a call that gets it, and what a model calls next that takes the text of the error literally. */
const calls: readonly (readonly [ErrorCode, Call, next: Call])[] = [
  ["variable_not_found", greet("$customers.name"), greet("$customer.name")],
  ["variable_not_found", read("ordrs"), read("orders")],
  ["variable_not_found", read("zzz"), of("list_variables")],
  ["variable_not_found", of("search_variable", { name: "zzz", query: "o1" }), of("list_variables")],
  ["variable_evicted", read("list_orders_1"), of("list_orders")],
  ["variable_sealed", read("key"), of("keep", { it: "$key" })],
  ["variable_sealed", query("SELECT * FROM key"), of("keep", { it: "$key" })],
  ["variable_sealed", set("key.a", 1), set("key", 1)],
  [
    "variable_secret",
    greet("a", { _outputPath: "$hush" }),
    greet("a", { _outputPath: "$another" }),
  ],
  ["path_not_found", sum("$orders[*].totals"), sum("$orders[*].total")],
  ["path_not_found", sum("$orders[0:2].total"), sum("$orders[0:2][*].total")],
  ["path_not_found", sum("$orders.total"), sum("$orders[*].total")],
  ["path_not_found", greet("$customer.name.first"), greet("$customer.name")],
  ["path_not_found", read("orders[400]"), read("orders[39]")],
  ["path_not_found", read("orders[0].totl"), read("orders[0].total")],
  ["path_not_found", query("SELECT $orders.nope AS x"), query("SELECT $orders[39] AS x")],
  ["invalid_tool_input", of("count", { rows: "$order_list" }), of("count", { rows: "$orders" })],
  ["invalid_tool_input", sum("$order[*].total"), sum("$orders[*].total")],
  ["invalid_tool_input", sum("$orders"), sum("$orders[*].total")],
  ["invalid_tool_input", of("sum"), sum([])],
  ["invalid_tool_input", greet("$text"), greet("$text[:20]")],
  ["invalid_tool_input", greet("Ada", { nam: "b" }), greet("Ada")],
  ["invalid_tool_input", greet("Ada", { _outputpath: "$x" }), greet("Ada", { _outputPath: "$x" })],
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
  ["invalid_tool_input", set("x", 1, "add"), set("x", 1, "replace")],
  ["invalid_tool_input", set("x"), set("x", "text")],
  ["invalid_tool_input", edit("text", []), edit("text", [{ find: "one", replace: "1" }])],
  [
    "invalid_tool_input",
    edit("text", [{ find: "four" }]),
    edit("text", [{ find: "four", replace: "" }]),
  ],
  ["invalid_tool_input", edit("orders[0]", "undo"), edit("orders", "undo")],
  ["bad_name", set("1x", 1), set("x", 1)],
  ["bad_name", read("orders["), read("orders")],
  ["bad_path", greet("Ada", { _outputPath: "1x" }), greet("Ada", { _outputPath: "$name" })],
  [
    "bad_path",
    of("delete_variable", { name: "customer.city" }),
    edit("customer", [{ op: "remove", path: "/city" }]),
  ],
  [
    "bad_alternatives",
    greet("Ada", { _outputPath: "$a || $b && $c" }),
    greet("Ada", { _outputPath: "$a || $b || $c" }),
  ],
  ["bad_value", set("orders", 1, "merge"), set("orders", 1, "replace")],
  ["bad_value", set("customer", 1, "append"), set("customer", 1, "replace")],
  ["bad_value", set("customer.name.first", 1), set("customer.name", 1)],
  ["bad_value", set("orders[99]", { id: "new" }), set("orders", { id: "new" }, "append")],
  [
    "bad_value",
    edit("customer", [{ find: "Ada", replace: "Bob" }]),
    edit("customer", [{ op: "add", path: "/added", value: 1 }]),
  ],
  [
    "bad_value",
    edit("customer", [{ where: "city = 'Rome'", set: { city: "Oslo" } }]),
    edit("customer", [{ op: "add", path: "/added", value: 1 }]),
  ],
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
  [
    "edit_not_found",
    edit("orders", [{ where: "id = 'zz'", set: { status: "x" } }]),
    read("orders"),
  ],
  [
    "edit_ambiguous",
    edit("text", [{ find: "two", replace: "2" }]),
    edit("text", [{ find: "two", replace: "2", all: true }]),
  ],
  [
    "edit_conflict",
    edit("customer", [{ op: "test", path: "/city", value: "Rome" }]),
    read("customer"),
  ],
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
    query("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"),
    query(
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 100000) SELECT max(n) FROM r",
    ),
  ],
  [
    "query_too_expensive",
    query("SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e"),
    query("SELECT count(*) FROM orders a"),
  ],
  ["tool_failed", of("busy"), of("busy", { again: true })],
  ["tool_timeout", of("slow", { amount: 9 }), of("slow", { amount: 1 })],
];

/** Calls without an alternative for the model, as their error texts say. */
const refusals: readonly (readonly [ErrorCode, Call])[] = [
  ["variable_secret", of("read_variable", { name: "hush" })],
  ["variable_secret", query("SELECT * FROM hush")],
  ["bad_name", of("delete_variable", { name: "input" })],
  ["bad_request", of("delete_variable", { name: "pin" })],
  ["tool_denied", of("forbidden")],
  ["number_not_exact", of("sum", { numbers: [parsedJson("1234567890123456789")] })],
];

/** Words that a model has without the text: names of its tools and their parameters, examples, numbers. */
const OWN = /^(?:keep|it|edits|read_variable|one|text|x|another|add|added|true|\d+)$/u;

describe("a model that follows an error message literally", () => {
  it.each(calls)("makes a valid call in one step: %s %j, then %j", async (code, call, next) => {
    const { store, tools } = await conversation();
    if (code === "variable_evicted") {
      await errorOf(tools, of("list_orders"));
      store.evictDue(Date.now() + 1e10, 100);
    }
    const text = (await errorOf(tools, call)) ?? "";
    expect(codeIn(text)).toBe(code);
    const known = wordsOf(`${JSON.stringify(call)} ${text}`);
    const invented = [...wordsOf(JSON.stringify(next))].filter((word) => !known.has(word));
    expect(
      invented.filter((word) => !OWN.test(word)),
      text,
    ).toEqual([]);
    expect(await errorOf(tools, next), text).toBeUndefined();
  });

  it.each(refusals)(
    "goes on without a call that nothing can make valid: %s %j",
    async (code, call) => {
      const { tools } = await conversation();
      const text = (await errorOf(tools, call)) ?? "";
      expect(codeIn(text)).toBe(code);
      expect(text).toMatch(GO_ON);
    },
  );

  it("finds a variable of a matching type if no name is similar", async () => {
    const { tools } = await conversation();
    const text = await errorOf(tools, of("count", { rows: "$everything" }));
    expect(text).toMatch(/\$everything is not a variable\. There are .*\$orders \(array\)/);
    expect(text).not.toMatch(/\$(?:key|hush|bin)\b/);
  });
});

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.match(/\w+/gu));
}

it("each code is followed here, or never reaches a model that uses byref/agent", () => {
  const followed = new Set<string>([...calls, ...refusals].map(([code]) => code));
  for (const code of Object.keys(OTHERWISE)) followed.add(code);
  const left = Object.keys(errorCodes).filter((code) => !followed.has(code));
  expect(left.toSorted()).toEqual([...ELSEWHERE].toSorted());
});

/** Codes that need a special state. The tests of their sources check the texts in full. */
const OTHERWISE = {
  unknown_tool: `unknown_tool: ${noSuchTool("red_variable", ["read_variable", "sum"])}`,
  conflict: "conflict: The tables of the query are not kept; try again.",
  approval_required: "approval_required: pay was not asked about here. Call it again to ask.",
  skipped: "skipped: $summary was to come from summarize, which has not written it. Make it first.",
  bad_name: `bad_name: ${readOnly("history").message}`,
  not_configured: "not_configured: Use a JSON Patch: [{op, path, value}].",
  outcome_unknown:
    "outcome_unknown: This call was cut off: it may or may not have run. Find out before you repeat it.",
  server_unavailable:
    "server_unavailable: Server shop is not available; continue without its tools. It was closed.",
};

const GO_ON =
  /Do not try again|continue without|is secret and cannot be used here|Find out before you repeat it|cannot be deleted|was not allowed|cannot be changed/u;
const DO_NEXT =
  /Did you mean|; (?:call|try) again|Call it again|Make it first|another name|JSON Patch: \[/u;

it.each(Object.entries(OTHERWISE))("%s says what to do next", (_, text) => {
  expect(text).toMatch(new RegExp(`${GO_ON.source}|${DO_NEXT.source}`, "u"));
});

/**
 * Codes that occur over HTTP, in streams, in plans, in the gateway or in operation, but in no result of a tool
 * of byref/agent.
 */
const ELSEWHERE: readonly string[] = `
approval_not_found bad_configuration bad_import bad_json body_timeout body_too_large conversation_exists
conversation_not_found foreign_origin idempotency_mismatch internal invalid_plan model_failed model_timeout
not_found plan_not_approved precondition_failed range_not_satisfiable rate_limited reference_in_url
spend_exceeded storage_full turn_failed turn_stopped turn_timeout unauthorized unavailable
unsupported_media_type`
  .trim()
  .split(/\s+/u);
