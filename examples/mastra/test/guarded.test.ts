import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Memory } from "@mastra/memory";
import { MemoryStore, withToolVariables } from "byref/mastra";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

let store: MemoryStore;
let received: unknown[];

beforeEach(async () => {
  store = new MemoryStore();
  received = [];
  await store.save({ name: "salary", value: 123_456, visibility: "sealed" });
  await store.save({ name: "city", value: "Oslo" });
});

function setUp(steps: readonly Step[]) {
  const model = new ScriptedModel(steps);
  const pay = createTool({
    id: "pay",
    description: "Pays.",
    inputSchema: z.object({ amount: z.number().max(500_000) }),
    execute: async (input) => {
      received.push(input);
      return { paid: input.amount };
    },
  });
  const limited = createTool({
    id: "limited",
    description: "Pays little.",
    inputSchema: z.object({ amount: z.number().max(10) }),
    execute: async ({ amount }) => ({ paid: amount }),
  });
  const agent = agentOf(model, { tools: { pay, limited } });
  return { model, agent: withToolVariables(agent, { store }) };
}

const showMap = createTool({
  id: "show_map",
  description: "Shows a place on the client's map.",
  inputSchema: z.object({ city: z.string(), zoom: z.number().optional() }),
});

describe("a sealed variable", () => {
  it("reaches a tool and a person, and never the model", async () => {
    const { agent, model } = setUp([
      { calls: [["pay", { amount: "$salary" }]] },
      { calls: [["limited", { amount: "$salary" }]] },
      { text: "Paid $salary." },
    ]);
    await agent.generate("Pay.");
    expect(received).toEqual([{ amount: 123_456 }]);
    expect(JSON.stringify(model.prompts)).not.toMatch(/123[,_]?456/);
  });

  it("does not reach a tool of the client, whose result the model gets", async () => {
    const { agent, model } = setUp([{ calls: [["show_map", { city: "Oslo", zoom: "$salary" }]] }]);
    const stream = await agent.stream("Show.", { clientTools: { show_map: showMap } });
    const chunks: { type: string }[] = [];
    for await (const chunk of stream.fullStream) chunks.push(chunk);
    expect(JSON.stringify(chunks)).not.toContain("123456");
    expect(chunks.find(({ type }) => type === "tool-error")).toMatchObject({
      payload: { toolName: "show_map", error: expect.stringContaining("tool_denied") },
    });
    expect(model.prompts).toHaveLength(1);
  });
});

/** Tools of Mastra whose input a model reads. */
it.each([
  ["another agent", "agent-reader", { prompt: "Read $salary." }, { prompt: "Read $city." }],
  ["the working memory", "updateWorkingMemory", { memory: "$salary." }, { memory: "In $city." }],
])("a sealed variable does not reach %s, and others do", async (_, tool, sealed, open) => {
  const said = [{ calls: [[tool, sealed]] }, { calls: [[tool, open]] }, { text: "Done." }] as const;
  const model = new ScriptedModel([...said, { text: "Again." }]);
  const inner = new ScriptedModel([{ text: "Read." }, { text: "Read." }]);
  const config = { instructions: "You help.", description: "Helps." };
  const reader = new Agent({ ...config, id: "reader", name: "Reader", model: inner.config });
  const agent = withToolVariables(
    new Agent({
      ...config,
      id: "boss",
      name: "Boss",
      model: model.config,
      agents: { reader },
      memory: new Memory({
        storage: new InMemoryStore(),
        options: { workingMemory: { enabled: true } },
      }),
    }),
    { store },
  );
  const inThread = { memory: { thread: "one", resource: "ada" } };
  await agent.generate("Go.", inThread);
  await agent.generate("Again.", inThread);
  const prompts = JSON.stringify([model.prompts, inner.prompts]);
  expect(store.list()).toHaveLength(3);
  const found = prompts.match(/tool_denied|(?:In|Read) Oslo|123456/g);
  expect(new Set(found)).toEqual(
    new Set(["tool_denied", tool.includes("agent") ? "Read Oslo" : "In Oslo"]),
  );
});

it("a tool of the client is shown widened, and gets its input resolved", async () => {
  const steps: readonly Step[] = [{ calls: [["show_map", { city: "$city" }]] }];
  const options = { clientTools: { show_map: showMap } };
  const { agent, model } = setUp(steps);
  const { toolCalls } = await agent.generate("Show.", options);
  expect(toolCalls[0]?.payload.args).toEqual({ city: "Oslo" });
  const tools = JSON.stringify(model.prompts[0]?.tools);
  expect(tools).toContain("show_map");
  // The number parameter also accepts a reference, which is a string.
  const shown = model.prompts[0]?.tools?.find(({ name }) => name === "show_map");
  expect(shown).toMatchObject({
    inputSchema: {
      properties: { zoom: { anyOf: [{ type: "number" }, { type: "string" }] } },
    },
  });
  const { agent: streaming } = setUp(steps);
  const stream = await streaming.stream("Show.", options);
  const args: unknown[] = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === "tool-call") args.push(chunk.payload.args);
  }
  expect(args).toEqual([{ city: "Oslo" }]);
  expect(JSON.stringify(stream.messageList.get.response.db())).toContain("$city");
});
