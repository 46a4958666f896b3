import { tool, ToolLoopAgent } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  MemoryStore,
  summaryOf,
  variableTools,
  withToolVariables,
  wrapTools,
} from "../../src/agent.ts";
import { scriptedModel } from "../../../testing/src/testing.ts";

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
  it("are all of them, or only those that are named", async () => {
    const store = new MemoryStore();
    expect(Object.keys(variableTools({ store })).sort()).toEqual([
      "delete_variable",
      "edit_variable",
      "list_variables",
      "query_variables",
      "read_variable",
      "search_variable",
      "set_variable",
    ]);
    const { read_variable, ...others } = variableTools({ store, only: ["read_variable"] });
    expect(others).toEqual({});
    expect(read_variable.description).toContain("variable");
  });

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
    const edits = [{ where: "id = 'ord_7'", set: { total: "$query_1[0].n" } }];
    await called(store, "edit_variable", { name: "orders", edits });
    expect(await called(store, "query_variables", { sql })).toMatchObject({ value: [{ n: 38 }] });
    expect(await store.read("orders")).toEqual(orders.with(7, { id: "ord_7", total: 45 }));
    await called(store, "edit_variable", { name: "orders", edits: "undo" });
    expect(await called(store, "query_variables", { sql })).toMatchObject({ value: [{ n: 45 }] });
    for (const [name, input] of [
      ["query_variables", { sql: "SELECT * FROM key" }],
      ["edit_variable", { name: "key", edits }],
    ] as const) {
      await expect(called(store, name, input)).rejects.toMatchObject({ code: "variable_sealed" });
    }
  });

  it("refuse a sealed value", async () => {
    const store = await storeWith();
    await expect(called(store, "read_variable", { name: "key" })).rejects.toMatchObject({
      code: "variable_sealed",
    });
  });

  it("can be tools of a wrapped agent, which saves no variables for their results", async () => {
    const store = await storeWith();
    const model = scriptedModel([
      { tool: "read_variable", input: { name: "note" } },
      { tool: "read_variable", input: { name: "orders", path: "[499]" } },
      "Done.",
    ]);
    const tools = variableTools({ store });
    const agent = withToolVariables(new ToolLoopAgent({ model, tools }), { store });
    await agent.generate({ prompt: "Read." });
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    expect(prompt).toContain("Call Ada.");
    expect(prompt).toContain("ord_499");
    expect(
      store
        .list({})
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(["key", "note", "orders"]);
  });

  it("are not wrapped again, while another tool that is wrapped twice has both policies", async () => {
    const store = await storeWith();
    const paid: unknown[] = [];
    const pay = tool({ inputSchema: z.object({}), execute: () => paid.push("paid") });
    const model = scriptedModel([{ tool: "pay", input: {} }, "Done."]);
    const tools = wrapTools({ pay }, { store });
    const policy = () => ({ deny: "not today" });
    const agent = withToolVariables(new ToolLoopAgent({ model, tools }), { store, policy });
    await agent.generate({ prompt: "Pay." });
    expect(paid).toEqual([]);
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("tool_denied");
  });

  it("work beside wrapped tools in the SDK's own loop", async () => {
    const store = new MemoryStore();
    const prompts: unknown[] = [];
    const calls = [
      { toolName: "list_orders", input: {} },
      { toolName: "read_variable", input: { name: "list_orders_1", path: "[499]" } },
    ];
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        prompts.push(prompt);
        const call = calls[prompts.length - 1];
        const content =
          call === undefined
            ? [{ type: "text" as const, text: "Done." }]
            : [
                {
                  type: "tool-call" as const,
                  toolCallId: `call_${prompts.length}`,
                  toolName: call.toolName,
                  input: JSON.stringify(call.input),
                },
              ];
        const unified = call === undefined ? ("stop" as const) : ("tool-calls" as const);
        return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
      },
    });
    const list_orders = tool({ inputSchema: z.object({}), execute: () => orders });
    const agent = new ToolLoopAgent({
      model,
      tools: { ...wrapTools({ list_orders }, { store }), ...variableTools({ store }) },
    });
    const { text } = await agent.generate({ prompt: "Read the last order." });
    expect(text).toBe("Done.");
    expect(JSON.stringify(prompts.at(-1))).toContain("ord_499");
    expect(JSON.stringify(prompts.at(-1))).not.toContain("ord_250");
  });
});

describe("summaryOf", () => {
  it("describes variables in Markdown, without values", async () => {
    const store = await storeWith();
    const summary = summaryOf(store);
    expect(summary).toMatch(/^# Variables Summary/u);
    expect([...summary.matchAll(/^## (\w+)$/gmu)].map(([, name]) => name)).toEqual([
      "orders",
      "note",
      "key",
    ]);
    expect(summary).not.toContain("s3cret");
    expect(summary).not.toContain("ord_250");
  });

  it("can be limited to the newest, or to named variables", async () => {
    const store = await storeWith();
    const names = (text: string) => [...text.matchAll(/^## (\w+)$/gmu)].map(([, name]) => name);
    expect(names(summaryOf(store, { last: 1 }))).toEqual(["key"]);
    expect(names(summaryOf(store, { names: ["orders", "none"] }))).toEqual(["orders"]);
    expect(summaryOf(store, { last: 0 })).toContain("No variables.");
  });
});
