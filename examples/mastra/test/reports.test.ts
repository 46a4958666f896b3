/** Public reports about the channels of Mastra, tried on a wrapped agent. The numbers are those of the reports. */
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { MemoryStore, withToolVariables } from "byref/mastra";
import { expect, it } from "vitest";
import * as z from "zod";
import { ScriptedModel, type Step } from "../scripted-model.ts";

const list = createTool({
  id: "list",
  description: "Lists orders.",
  inputSchema: z.object({}),
  execute: async () => Array.from({ length: 500 }, (_, id) => ({ id, total: id * 3 })),
});
const listing: Step = { calls: [["list", {}]] };
const answer: Step = { text: "Last $list_1[499].total." };
const shown = "Last 1497.";

type Config = Partial<ConstructorParameters<typeof Agent>[0]>;

function setUp(steps: readonly Step[], more: Config = {}) {
  const model = new ScriptedModel(steps);
  const config = { id: "shop", name: "Shop", instructions: "You look after a shop." };
  const agent = new Agent({ ...config, model: model.config, tools: { list }, ...more } as never);
  return { model, agent: withToolVariables(agent, { store: new MemoryStore() }) };
}

it("9916: the text is that of the output processors, with values", async () => {
  const { agent } = setUp([listing, answer], {
    outputProcessors: [
      {
        id: "louder",
        processOutputStream: async ({ part }) =>
          part.type === "text-delta"
            ? {
                ...part,
                payload: { ...part.payload, text: part.payload.text.replace("Last", "Final") },
              }
            : part,
      },
    ],
  });
  expect((await agent.generate("Which?")).text).toBe("Final 1497.");
});

it("24443: a processor that refuses an answer refuses its values, too", async () => {
  const { agent } = setUp([listing, answer], {
    outputProcessors: [
      {
        id: "guard",
        processOutputResult: async ({ abort }) => abort("No."),
      },
    ],
  });
  const stream = await agent.stream("Which?");
  await stream.consumeStream();
  expect(await stream.text).toBe("");
});

it("ag-ui 1726: messages for clients at the end of a stream have values, and come back as references", async () => {
  const { agent, model } = setUp([listing, answer, { text: "Again." }], {
    outputProcessors: [{ id: "none", processOutputResult: async ({ messages }) => messages }],
  });
  const stream = await agent.stream("Which?");
  const ends: unknown[] = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === "finish") ends.push(chunk.payload.response);
  }
  expect(JSON.stringify(ends)).toContain(`"text":"${shown}"`);
  const { uiMessages = [], messages } = await stream.response;
  expect(JSON.stringify(uiMessages)).toContain(`"text":"${shown}"`);
  expect(JSON.stringify(messages)).not.toContain(shown);
  await agent.generate([...uiMessages, { role: "user", content: "Again?" }]);
  expect(JSON.stringify(model.prompts.at(-1)?.prompt)).toContain("Last $list_1[499].total.");
  expect(JSON.stringify(model.prompts)).not.toContain(shown);
});

it("14659: memory has the JSON of a structured answer once", async () => {
  const memory = new MockMemory();
  const text = '{"total":"$list_1[499].total"}';
  const { agent } = setUp([listing, { text }], { memory });
  await agent.generate("Which?", {
    memory: { thread: "one", resource: "ada" },
    structuredOutput: { schema: z.object({ total: z.number() }) },
  });
  const { messages } = await memory.recall({ threadId: "one", resourceId: "ada" });
  const texts = messages.flatMap(({ role, content }) =>
    role === "assistant" ? content.parts.filter(({ type }) => type === "text") : [],
  );
  expect(texts).toMatchObject([{ text }]);
});

it("23794: a structuring model that fails once is asked again, with the same schema", async () => {
  const { agent } = setUp([listing, answer, answer]);
  const structuring = new ScriptedModel([
    { text: '{"total":"$list_1"}' },
    { text: '{"total":"$list_1[499].total"}' },
  ]);
  const { object } = await agent.generate("Which?", {
    maxProcessorRetries: 2,
    structuredOutput: { schema: z.object({ total: z.number() }), model: structuring.config },
  });
  expect(object).toEqual({ total: 1497 });
});
