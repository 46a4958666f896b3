import { parsedJson } from "../../../../src/value/json.ts";
import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore, variableTools, wrapTools } from "../../src/agent.ts";
import { codeIn, errorCodes, type ErrorCode } from "../../../../src/errors.ts";
import { readOnly } from "../../../../src/store/names.ts";
import { refusalOf } from "../../../gateway/src/gateway-server.ts";
import { noSuchTool } from "../../../../src/tool/policy.ts";
import { bytesContent } from "../../../../src/store/bytes/content.ts";
import { type Call, followError } from "../../../../test/support/follow-error.ts";

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

const query = (sql: string): Call => ({ tool: "query_variables", input: { sql } });
const edit = (name: string, edits: unknown): Call => ({
  tool: "edit_variable",
  input: { name, edits: edits as never },
});
const of = (tool: string, input: Call["input"] = {}): Call => ({ tool, input });

const calls: readonly (readonly [ErrorCode, Call])[] = [
  ["variable_not_found", of("greet", { name: "$customers.name" })],
  ["variable_not_found", of("read_variable", { name: "ordrs" })],
  ["variable_not_found", of("read_variable", { name: "zzz" })],
  ["variable_not_found", of("search_variable", { name: "zzz", query: "o1" })],
  ["variable_evicted", of("read_variable", { name: "list_orders_1" })],
  ["variable_sealed", of("read_variable", { name: "key" })],
  ["variable_sealed", query("SELECT * FROM key")],
  ["variable_sealed", of("set_variable", { name: "key.a", value: 1 })],
  ["variable_secret", of("greet", { name: "a", _outputPath: "$hush" })],
  ["path_not_found", of("sum", { numbers: "$orders[*].totals" })],
  ["path_not_found", of("sum", { numbers: "$orders[0:2].total" })],
  ["path_not_found", of("sum", { numbers: "$orders.total" })],
  ["path_not_found", of("greet", { name: "$customer.name.first" })],
  ["path_not_found", of("read_variable", { name: "orders[400]" })],
  ["path_not_found", of("read_variable", { name: "orders[0].totl" })],
  ["path_not_found", query("SELECT $orders.nope AS x")],
  ["invalid_tool_input", of("count", { rows: "$order_list" })],
  ["invalid_tool_input", of("sum", { numbers: "$order[*].total" })],
  ["invalid_tool_input", of("sum", { numbers: "$orders" })],
  ["invalid_tool_input", of("sum")],
  ["invalid_tool_input", of("greet", { name: "$text" })],
  ["invalid_tool_input", of("greet", { name: "Ada", nam: "b" })],
  ["invalid_tool_input", of("greet", { name: "Ada", _outputpath: "$x" })],
  ["invalid_tool_input", of("read_variable", { name: "text", limit: 0 })],
  ["invalid_tool_input", of("read_variable")],
  ["invalid_tool_input", of("search_variable", { name: "text", query: "" })],
  ["invalid_tool_input", of("set_variable", { name: "x", value: 1, mode: "add" })],
  ["invalid_tool_input", of("set_variable", { name: "x" })],
  ["invalid_tool_input", edit("text", [])],
  ["invalid_tool_input", edit("text", [{ find: "four" }])],
  ["invalid_tool_input", edit("orders[0]", "undo")],
  ["bad_name", of("set_variable", { name: "1x", value: 1 })],
  ["bad_name", of("read_variable", { name: "orders[" })],
  ["bad_path", of("greet", { name: "Ada", _outputPath: "1x" })],
  ["bad_path", of("delete_variable", { name: "customer.city" })],
  ["bad_alternatives", of("greet", { name: "Ada", _outputPath: "$a || $b && $c" })],
  ["bad_value", of("set_variable", { name: "orders", value: 1, mode: "merge" })],
  ["bad_value", of("set_variable", { name: "customer", value: 1, mode: "append" })],
  ["bad_value", of("set_variable", { name: "customer.name.first", value: 1 })],
  ["bad_value", of("set_variable", { name: "orders[99]", value: { id: "new" } })],
  ["bad_value", edit("customer", [{ find: "Ada", replace: "Bob" }])],
  ["bad_value", edit("customer", [{ where: "city = 'Rome'", set: { city: "Oslo" } }])],
  ["edit_not_found", edit("text", [{ find: "thre fuor", replace: "3 4" }])],
  ["edit_not_found", edit("text", [{ find: "xyz", replace: "3" }])],
  ["edit_not_found", edit("customer", [{ op: "replace", path: "/town", value: 1 }])],
  ["edit_not_found", edit("orders", [{ where: "id = 'zz'", set: { status: "x" } }])],
  ["edit_ambiguous", edit("text", [{ find: "two", replace: "2" }])],
  ["edit_conflict", edit("customer", [{ op: "test", path: "/city", value: "Rome" }])],
  ["edit_conflict", edit("customer", "undo")],
  ["limit_exceeded", query(`SELECT 1${" ".repeat(20_000)}`)],
  ["not_queryable", query("SELECT * FROM bin")],
  ["bad_query", query("SELECT totl FROM orders")],
  ["bad_query", query("SELECT * FROM order")],
  ["bad_query", query("SELECT * FROM zzz")],
  ["bad_query", query("SELECT amount FROM orders")],
  ["bad_query", query("")],
  ["bad_query", edit("orders", [{ where: "ids = 'o1'", set: { status: "x" } }])],
  ["query_not_allowed", query("DELETE FROM orders")],
  ["bad_query", query("SELEC 1")],
  ["query_not_allowed", query("SELECT 1; SELECT 2")],
  [
    "query_not_allowed",
    query("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"),
  ],
  [
    "query_too_expensive",
    query("SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e"),
  ],
  ["tool_failed", of("busy")],
  ["tool_timeout", of("slow", { amount: 9 })],
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

describe("a model that follows an error message literally", () => {
  it.each(calls)("makes a valid call in one step: %s %j", async (code, call) => {
    const { store, tools } = await conversation();
    if (code === "variable_evicted") {
      await errorOf(tools, of("list_orders"));
      store.evictDue(Date.now() + 1e10, 100);
    }
    const text = await errorOf(tools, call);
    expect(codeIn(text ?? "")).toBe(code);
    const next = followError(text ?? "", call);
    expect(next, text).toMatchObject({ tool: expect.any(String) });
    expect(
      await errorOf(tools, next as Call),
      `${text} -> ${JSON.stringify(next)}`,
    ).toBeUndefined();
  });

  it.each(refusals)(
    "continues without a call that nothing can make valid: %s %j",
    async (code, call) => {
      const { tools } = await conversation();
      const text = await errorOf(tools, call);
      expect(codeIn(text ?? "")).toBe(code);
      expect(followError(text ?? "", call), text).toBe("goes on without it");
    },
  );

  it("finds a variable of a matching type if no name is similar", async () => {
    const { tools } = await conversation();
    const call = of("count", { rows: "$everything" });
    const text = await errorOf(tools, call);
    expect(text).toContain("$everything is not a variable. There are ");
    expect(text).not.toMatch(/\$(?:key|hush|bin)\b/);
    expect(followError(text ?? "", call)).toEqual(of("count", { rows: "$orders" }));
  });
});

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

it.each([
  ...Object.entries(OTHERWISE),
  ["approval_required", `approval_required: ${refusalOf("It pays.")}`],
])("%s says what to do next", (_, text) => {
  const call = of("red_variable", { name: "history", value: 1 });
  const calls = followError(text, call);
  expect(calls, text).not.toBe("is lost");
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
