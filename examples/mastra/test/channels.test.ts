/** Each channel through which Mastra passes on what the model of an agent wrote. */
import { Agent } from "@mastra/core/agent";
import type { ChunkType } from "@mastra/core/stream";
import { createScorer } from "@mastra/core/evals";
import { Mastra } from "@mastra/core/mastra";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { TransformStream } from "node:stream/web";
import { expandMessages, MemoryStore, withToolVariables } from "byref/mastra";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

const orders = Array.from({ length: 500 }, (_, id) => ({ id, total: id * 3, city: `City ${id}` }));
const list = createTool({
  id: "list",
  description: "Lists orders.",
  inputSchema: z.object({}),
  execute: async () => orders,
});
const listing: Step = { calls: [["list", {}]] };
const answer: Step = { text: ["Last $list_1[4", "99].total", ". City: $list_1[0].city"] };
const shown = "Last 1497. City: City 0";
const written = "Last $list_1[499].total. City: $list_1[0].city";
/** The answer about a sealed variable, and what a reader gets that may be a model. */
const sealedAnswer: Step = { text: "Pay $salary in $list_1[0].city" };
const sealedShown = "Pay 123456 in City 0";
const sealedKept = "Pay $salary in City 0";

let store: MemoryStore;
beforeEach(async () => {
  store = new MemoryStore();
  await store.save({ name: "salary", value: 123_456, visibility: "sealed" });
});

type Config = Partial<ConstructorParameters<typeof Agent>[0]>;

function setUp(steps: readonly Step[], more: Config = {}) {
  const model = new ScriptedModel(steps);
  const agent = agentOf(model, { tools: { list }, ...more });
  return { model, agent: withToolVariables(agent, { store }) };
}

const inThread = { memory: { thread: "one", resource: "ada" } };

describe.each(["generate", "stream"] as const)("callbacks of %s", (how) => {
  it("receive values, and histories references", async () => {
    const { agent } = setUp([listing, answer]);
    const texts: Record<string, string[]> = {};
    const add = (name: string, text: string) => {
      texts[name] = [...(texts[name] ?? []), text];
    };
    const histories: unknown[] = [];
    let chunks = "";
    const output = await agent[how]("Which?", {
      onChunk: (chunk) => {
        if (chunk.type === "text-delta") chunks += chunk.payload.text;
      },
      onStepFinish: ({ text, response }) => {
        add("step", text);
        histories.push(response);
      },
      onIterationComplete: ({ text, messages }) => {
        add("iteration", text);
        histories.push(messages);
      },
      onFinish: ({ text, steps }) => {
        add("finish", text);
        histories.push(steps);
      },
    });
    if ("consumeStream" in output) await output.consumeStream();
    expect(texts).toEqual({ step: ["", shown], iteration: ["", shown], finish: [shown] });
    expect(chunks).toBe(shown);
    expect(JSON.stringify(histories)).toContain(written);
    expect(JSON.stringify(histories)).not.toContain("Last 1497");
  });

  it("receive each text of a run with several, and the end of a text that holds back", async () => {
    const first = { text: "First $list_1[1].city", calls: [["list", {}]] } as const;
    const { agent } = setUp([listing, first, { text: "Then $list_1[2].city" }]);
    const pieces: string[] = [];
    const finished: string[] = [];
    const output = await agent[how]("Which?", {
      onChunk: ({ type, payload }: { type: string; payload?: { text?: string } }) => {
        pieces.push(type === "text-delta" ? (payload?.text ?? "") : `[${type}]`);
      },
      onFinish: ({ text }: { text: string }) => {
        finished.push(text);
      },
    } as never);
    if ("consumeStream" in output) await output.consumeStream();
    const all = pieces.join("").replaceAll(/\[tool-call-[\w-]+\]/g, "");
    expect(all).toBe("[tool-call][tool-result]First City 1[tool-call][tool-result]Then City 2");
    expect(finished).toEqual(["First City 1Then City 2"]);
  });
});

async function runFlow(agent: Agent, options?: object) {
  const step = createStep(agent, options as never);
  const workflow = createWorkflow({
    id: "flow",
    inputSchema: z.object({ prompt: z.string() }),
    outputSchema: z.any(),
  })
    .then(step as never)
    .commit();
  const run = await workflow.createRun();
  return run.start({ inputData: { prompt: "Which?" } });
}

const schema = z.object({
  total: z.number(),
  id: z.string(),
  city: z.string(),
  first: z.object({ id: z.number() }),
  maybe: z.number().nullish(),
});
const json = {
  total: "$list_1[499].total",
  id: "$list_1[7].id",
  city: "In $list_1[0].city.",
  first: "$list_1[7]",
};
const object = { total: 1497, id: "7", city: "In City 0.", first: { id: 7 } };

it("a step of a workflow returns an object with values of the types that its schema has", async () => {
  const { agent } = setUp([listing, { text: JSON.stringify(json) }]);
  const result = await runFlow(agent, { structuredOutput: { schema } });
  expect(result).toMatchObject({ status: "success", result: object });
});

describe("structured output", () => {
  const jsonSchema = {
    type: "object",
    properties: { total: { type: "number" }, id: { type: "string" } },
    required: ["total", "id"],
  } as const;
  const elements = [{ id: "$list_1[1].id" }, "$list_1[2]", { id: 3 }];
  it.each([
    { what: "an object", schema, written: json, object },
    {
      what: "a JSON Schema",
      schema: jsonSchema,
      written: { total: "$list_1[9].total", id: "$list_1[7].id" },
      object: { total: 27, id: "7" },
    },
    {
      what: "a list",
      schema: z.array(z.object({ id: z.number() })),
      written: { elements },
      object: [{ id: 1 }, { id: 2 }, { id: 3 }],
    },
    {
      what: "a choice",
      schema: z.enum(["City 0", "City 1"]),
      written: { result: "$list_1[1].city" },
      object: "City 1",
    },
    {
      what: "a sealed value",
      schema: z.object({ pay: z.number() }),
      written: { pay: "$salary" },
      object: { pay: 123_456 },
    },
  ])("of $what has values, and the text stays as it was written", async (row) => {
    const text = JSON.stringify(row.written);
    const structuredOutput = { schema: row.schema as typeof schema };
    const generated = setUp([listing, { text }]);
    let finished: unknown;
    const output = await generated.agent.generate("Which?", {
      structuredOutput,
      onFinish: (event) => {
        finished = event.object;
      },
    });
    expect(output.object).toEqual(row.object);
    expect(finished).toEqual(row.object);
    expect(output.text).toBe(text);
    expect(JSON.stringify(generated.model.prompts)).not.toContain("123456");
    const stream = await setUp([listing, { text: text.match(/.{1,3}/gsu) ?? [] }]).agent.stream(
      "Which?",
      { structuredOutput },
    );
    const parts: unknown[] = [];
    for await (const part of stream.objectStream) parts.push(part);
    expect(parts.at(-1)).toEqual(row.object);
    if (row.what !== "a choice") expect(JSON.stringify(parts)).not.toContain("$");
    expect(await stream.object).toEqual(row.object);
  });

  it("of a list passes on each element when it is known", async () => {
    const text = JSON.stringify({ elements });
    const { agent } = setUp([listing, { text: text.match(/.{1,3}/gsu) ?? [] }]);
    const stream = await agent.stream("Which?", {
      structuredOutput: { schema: z.array(z.object({ id: z.number() })) },
    });
    const seen: unknown[] = [];
    for await (const element of stream.elementStream) seen.push(element);
    expect(seen.map((one) => z.object({ id: z.number() }).parse(one).id)).toEqual([1, 2, 3]);
  });

  it("of another model has values, and neither model sees a sealed one", async () => {
    const { agent, model } = setUp([listing, sealedAnswer]);
    const structuring = new ScriptedModel([{ text: '{"pay":"$salary","city":"$list_1[0].city"}' }]);
    const { object: made, text } = await agent.generate("Which?", {
      structuredOutput: {
        schema: z.object({ pay: z.number(), city: z.string() }),
        model: structuring.config,
      },
    });
    expect(made).toEqual({ pay: 123_456, city: "City 0" });
    expect(text).toBe(sealedShown);
    expect(JSON.stringify([model.prompts, structuring.prompts])).not.toContain("123456");
    expect(JSON.stringify(structuring.prompts)).toContain("Pay $salary");
  });

  it("shows the model a schema in which any part may be a reference", async () => {
    const { agent, model } = setUp([{ text: '{"total":1}' }]);
    await agent.generate("Which?", {
      structuredOutput: { schema: z.object({ total: z.number() }) },
    });
    expect(model.prompts[0]?.responseFormat).toMatchObject({
      schema: { properties: { total: { anyOf: [{ type: "number" }, { type: "string" }] } } },
    });
  });

  it("that does not fit is Mastra's error", async () => {
    const { agent } = setUp([listing, { text: '{"total":"$list_1[0].city"}' }]);
    const generating = agent.generate("Which?", {
      structuredOutput: { schema: z.object({ total: z.number() }) },
    });
    await expect(generating).rejects.toThrow(/Structured output validation failed/);
  });
});

describe("scorers", () => {
  const scored: unknown[] = [];
  const scorer = createScorer({ id: "judge", description: "Judges." }).generateScore(({ run }) => {
    scored.push(run);
    return 1;
  });
  beforeEach(() => {
    scored.length = 0;
  });

  it.each([{}, inThread])("of an agent read values, but no sealed ones", async (memory) => {
    const { agent } = setUp([listing, sealedAnswer], {
      scorers: { judge: { scorer } },
      memory: new MockMemory(),
    });
    const mastra = new Mastra({
      agents: { shop: agent },
      storage: new InMemoryStore(),
      logger: false,
    });
    const { text } = await mastra.getAgent("shop").generate("Which?", memory);
    expect(text).toBe(sealedShown);
    await expect.poll(() => scored.length).toBe(1);
    expect(JSON.stringify(scored)).toContain(sealedKept);
    expect(JSON.stringify(scored)).not.toContain("123456");
  });

  it("read the data that evaluations ask for", async () => {
    const { agent } = setUp([listing, sealedAnswer]);
    const { scoringData } = await agent.generate("Which?", { returnScorerData: true });
    expect(JSON.stringify(scoringData)).toContain(sealedKept);
  });

  it("that decide whether a task is complete read values", async () => {
    const { agent } = setUp([listing, sealedAnswer]);
    await agent.generate("Which?", { isTaskComplete: { scorers: [scorer] } });
    expect(scored).toMatchObject([{ output: sealedKept }]);
  });
});

describe("memory", () => {
  it("has references, which are expanded for display", async () => {
    const memory = new MockMemory();
    const { agent, model } = setUp([listing, sealedAnswer, { text: "Again." }], { memory });
    await agent.generate("Which?", inThread);
    const [threadId, resourceId] = ["one", "ada"];
    // --- a history for display
    const { messages } = await memory.recall({ threadId, resourceId });
    const shown = await expandMessages(messages, store);
    // ---
    expect(JSON.stringify(messages)).toContain("Pay $salary in $list_1[0].city");
    expect(JSON.stringify(messages)).not.toMatch(/123456|Pay .* in City 0/);
    expect(JSON.stringify(shown)).toContain(sealedShown);
    await agent.generate("Again?", inThread);
    expect(JSON.stringify(model.prompts)).not.toContain("123456");
  });

  it("keeps a validated object beside the message, where no prompt has it", async () => {
    const memory = new MockMemory();
    const steps = [listing, { text: '{"pay":"$salary"}' }, { text: "Again." }];
    const { agent, model } = setUp(steps, { memory });
    await agent.generate("Which?", {
      ...inThread,
      structuredOutput: { schema: z.object({ pay: z.number() }) },
    });
    await agent.generate("Again?", inThread);
    expect(JSON.stringify(model.prompts.at(-1)?.prompt)).toContain("$salary");
    expect(JSON.stringify(model.prompts)).not.toContain("123456");
  });
});

it("a subscription to a thread has values", async () => {
  const { agent } = setUp([listing, answer], { memory: new MockMemory() });
  const subscription = await agent.subscribeToThread({ threadId: "one", resourceId: "ada" });
  let text = "";
  const reading = (async () => {
    for await (const chunk of subscription.stream) {
      if (chunk.type === "text-delta") text += chunk.payload.text;
      if (chunk.type === "finish") return;
    }
  })();
  await (await agent.stream("Which?", inThread)).consumeStream();
  await reading;
  subscription.unsubscribe();
  expect(text).toBe(shown);
});

it("an application's own transform of a stream reads values", async () => {
  const { agent } = setUp([listing, answer]);
  let read = "";
  const stream = await agent.stream("Which?", {
    experimentalTransform: () =>
      new TransformStream<ChunkType<unknown>, ChunkType<unknown>>({
        transform(chunk, controller) {
          if (chunk.type === "text-delta") read += chunk.payload.text;
          controller.enqueue(chunk);
        },
      }),
  });
  let text = "";
  for await (const piece of stream.textStream) text += piece;
  expect(text).toBe(shown);
  expect(read).toBe(shown);
});

it.each(["generate", "stream"] as const)(
  "%s of an agent that asks a wrapped agent gets values, but no sealed ones",
  async (how) => {
    const { agent: shop } = setUp([listing, sealedAnswer], { description: "Knows orders." });
    const model = new ScriptedModel([
      { calls: [["agent-shop", { prompt: "Which?" }]] },
      { text: "Done." },
    ]);
    const config = { id: "boss", name: "Boss", instructions: "You ask.", model: model.config };
    const boss = new Agent({ ...config, agents: { shop } });
    const output = await (how === "generate" ? boss.generate("Ask.") : boss.stream("Ask."));
    expect(await output.text).toBe("Done.");
    expect(JSON.stringify(model.prompts.at(-1)?.prompt)).toContain(sealedKept);
    expect(JSON.stringify(model.prompts)).not.toContain("123456");
  },
);

it("traces record references", async () => {
  const recorded: unknown[] = [];
  /** A span that records what it receives, with spans of its own. */
  const span: object = new Proxy(
    { isValid: true, traceId: "trace", id: "span", metadata: {} },
    {
      get(target, key) {
        if (key in target) return Reflect.get(target, key);
        if (typeof key === "symbol" || ["then", "toJSON", "parent"].includes(key)) return undefined;
        return (given: unknown) => {
          if (typeof given === "function") return Reflect.apply(given, undefined, []);
          recorded.push(given);
          return key === "createChildSpan" || key === "createEventSpan" ? span : undefined;
        };
      },
    },
  );
  const { agent } = setUp([listing, sealedAnswer]);
  const { text } = await agent.generate("Which?", {
    tracingContext: { currentSpan: span },
  } as never);
  expect(text).toBe(sealedShown);
  const seen = new WeakSet();
  const spans = JSON.stringify(recorded, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return undefined;
    seen.add(value);
    return value;
  });
  expect(spans).toContain('{"text":"Pay $salary in $list_1[0].city"');
  expect(spans).not.toContain("123456");
});

it("mastra-ai/mastra#9916: the text is that of the output processors, with values", async () => {
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
  expect((await agent.generate("Which?")).text).toBe(shown.replace("Last", "Final"));
});

it("mastra-ai/mastra#24443: a processor that refuses an answer refuses its values, too", async () => {
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

it("ag-ui-protocol/ag-ui#1726: messages for clients at the end of a stream have values, and come back as references", async () => {
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
  expect(JSON.stringify(model.prompts.at(-1)?.prompt)).toContain(written);
  expect(JSON.stringify(model.prompts)).not.toContain(shown);
});

it("mastra-ai/mastra#14659: memory has the JSON of a structured answer once", async () => {
  const memory = new MockMemory();
  const text = '{"total":"$list_1[499].total"}';
  const { agent } = setUp([listing, { text }], { memory });
  await agent.generate("Which?", {
    ...inThread,
    structuredOutput: { schema: z.object({ total: z.number() }) },
  });
  const { messages } = await memory.recall({ threadId: "one", resourceId: "ada" });
  const texts = messages.flatMap(({ role, content }) =>
    role === "assistant" ? content.parts.filter(({ type }) => type === "text") : [],
  );
  expect(texts).toMatchObject([{ text }]);
});

it("mastra-ai/mastra#23794: a structuring model that fails once is asked again, with the same schema", async () => {
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
