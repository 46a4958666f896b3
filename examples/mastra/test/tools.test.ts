import { RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { MemoryStore, withToolVariables } from "byref/mastra";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

const orders = Array.from({ length: 500 }, (_, id) => ({ id, total: id * 3 }));

/** Two tools: one returns a result that is too large to be shown, the other records its input. */
function orderTools(received: unknown[] = []) {
  return {
    list_orders: createTool({
      id: "list_orders",
      description: "Lists orders.",
      inputSchema: z.object({}),
      execute: async () => orders,
    }),
    sum: createTool({
      id: "sum",
      description: "Adds numbers.",
      inputSchema: z.object({ numbers: z.array(z.number()) }),
      execute: async ({ numbers }) => {
        received.push(numbers);
        return { sum: numbers.reduce((sum, number) => sum + number, 0) };
      },
    }),
  };
}

const steps: readonly Step[] = [
  { calls: [["list_orders", {}]] },
  { calls: [["sum", { numbers: "$list_orders_1[*].total" }]] },
  { text: "The sum is $sum_1.sum." },
];

const sumOfTotals = orders.reduce((sum, { total }) => sum + total, 0);

describe("tools of a Mastra agent", () => {
  it("receive what references name, and their results are handles in the prompt", async () => {
    const received: unknown[] = [];
    const model = new ScriptedModel(steps);
    const agent = withToolVariables(agentOf(model, { tools: orderTools(received) }));
    const { text } = await agent.generate("Sum the orders.");
    expect(text).toBe(`The sum is ${sumOfTotals}.`);
    expect(received).toEqual([orders.map(({ total }) => total)]);
    const last = JSON.stringify(model.prompts.at(-1)?.prompt);
    expect(last).toContain("$list_orders_1[*].total");
    expect(last).toContain("list_orders_1");
    expect(last.length).toBeLessThan(JSON.stringify(orders).length);
  });

  it("have results named by their ids, and inputs whose fields need no cast", async () => {
    const weatherTool = createTool({
      id: "get-weather",
      description: "Returns the weather of a place.",
      inputSchema: z.object({ location: z.string() }),
      execute: async ({ location }) => ({ location, temperature: 72 }),
    });
    const model = new ScriptedModel([
      { calls: [["weatherTool", { location: "New York" }]] },
      { text: "$weather_new_york.temperature°F" },
    ]);
    const agent = withToolVariables(agentOf(model, { tools: { weatherTool } }), {
      naming: (toolId, input) => {
        if (toolId === "get-weather" && input?.location) {
          return `weather_${input.location.toLowerCase().replace(/\s+/g, "_")}`;
        }
        return `${toolId}_${Date.now()}`;
      },
    });
    expect((await agent.generate("New York?")).text).toBe("72°F");
  });

  it("may be a function of the request context", async () => {
    const model = new ScriptedModel(steps);
    const received: unknown[] = [];
    const requestContext = new RequestContext<Record<string, unknown>>();
    requestContext.set("role", "admin");
    const tools = ({
      requestContext,
    }: {
      requestContext: RequestContext<Record<string, unknown>>;
    }) => (requestContext.get("role") === "admin" ? orderTools(received) : {});
    const agent = withToolVariables(agentOf(model, { tools }));
    const { text } = await agent.generate("Sum the orders.", { requestContext });
    expect(text).toBe(`The sum is ${sumOfTotals}.`);
  });

  it("may come from toolsets of a call", async () => {
    const model = new ScriptedModel(steps);
    const agent = withToolVariables(agentOf(model));
    const { text } = await agent.generate("Sum the orders.", {
      toolsets: { shop: orderTools() },
    });
    expect(text).toBe(`The sum is ${sumOfTotals}.`);
  });

  it("may be workflows, whose input is resolved and whose result is a variable", async () => {
    const inputSchema = z.object({ numbers: z.array(z.number()) });
    const outputSchema = z.object({ sum: z.number() });
    const add = createStep({
      id: "add",
      inputSchema,
      outputSchema,
      execute: async ({ inputData }) => ({ sum: inputData.numbers.reduce((a, b) => a + b, 0) }),
    });
    const total = createWorkflow({
      id: "total",
      description: "Adds numbers.",
      inputSchema,
      outputSchema,
    })
      .then(add)
      .commit();
    const store = new MemoryStore();
    const model = new ScriptedModel([
      { calls: [["list_orders", {}]] },
      { calls: [["workflow-total", { inputData: { numbers: "$list_orders_1[*].total" } }]] },
      { text: "Done." },
    ]);
    const agent = withToolVariables(agentOf(model, { tools: orderTools(), workflows: { total } }), {
      store,
    });
    await agent.generate("Sum the orders.");
    const names = store.list().map(({ name }) => name);
    expect(names).toHaveLength(2);
    const value = await store.read(names[1] ?? "");
    expect(JSON.stringify(value)).toContain(String(sumOfTotals));
  });

  it("keep the context of createTool", async () => {
    const contexts: unknown[] = [];
    const requestContext = new RequestContext();
    const look = createTool({
      id: "look",
      description: "Looks.",
      inputSchema: z.object({ at: z.string().default("here") }),
      execute: async ({ at }, context) => {
        contexts.push([
          at,
          context.requestContext === requestContext,
          context.agent?.toolCallId,
          typeof context.agent?.suspend,
          context.abortSignal instanceof AbortSignal,
        ]);
        return { at };
      },
    });
    const model = new ScriptedModel([{ calls: [["look", {}]] }, { text: "Seen." }]);
    const agent = withToolVariables(agentOf(model, { tools: { look } }));
    await agent.generate("Look.", { requestContext });
    expect(contexts).toEqual([["here", true, "call-0-0", "function", true]]);
  });

  it("respects toModelOutput of a small value, and shows a handle of a large one", async () => {
    const tools = {
      small: createTool({
        id: "small",
        description: "Small.",
        inputSchema: z.object({}),
        execute: async () => ({ city: "NYC" }),
        toModelOutput: (output) => {
          const { city } = output as { readonly city: string };
          return { type: "text", value: `City: ${city}` };
        },
      }),
      large: createTool({
        id: "large",
        description: "Large.",
        inputSchema: z.object({}),
        execute: async () => orders,
        toModelOutput: (all) => ({ type: "text", value: JSON.stringify(all) }),
      }),
    };
    const model = new ScriptedModel([
      {
        calls: [
          ["small", {}],
          ["large", {}],
        ],
      },
      { text: "Done." },
    ]);
    const agent = withToolVariables(agentOf(model, { tools }));
    await agent.generate("Go.");
    const last = JSON.stringify(model.prompts.at(-1)?.prompt);
    expect(last).toContain("$small_1: City: NYC");
    expect(last).not.toContain('\\"total\\":1497');
    expect(last).toContain("large_1");
  });
});
