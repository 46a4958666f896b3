import {
  createAgentUIStream,
  readUIMessageStream,
  tool,
  ToolLoopAgent,
  type UIMessage,
  isStepCount,
  NoSuchToolError,
  type TextStreamPart,
  type ToolSet,
} from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore, withToolVariables, expandStream } from "../../src/agent.ts";
import { expandResponse } from "../../src/agent/expand-answer.ts";
import { scriptedModel, type Step } from "../../../testing/src/testing.ts";

const weather = { city: "New York", temp: 21, hours: Array.from({ length: 500 }, (_, at) => at) };
const seen: unknown[] = [];

const tools = {
  get_weather: tool({
    description: "The weather of a place.",
    inputSchema: z.object({ location: z.string() }),
    execute: () => weather,
  }),
  compare: tool({
    inputSchema: z.object({ first: z.object({ temp: z.number() }), limit: z.number() }),
    execute: (input) => {
      seen.push(input);
      return { warmer: input.first.temp > input.limit };
    },
  }),
};

const steps: readonly Step[] = [
  [{ tool: "get_weather", input: { location: "NYC" } }],
  [{ tool: "compare", input: { first: "$get_weather_nyc", limit: "$get_weather_nyc.hours[20]" } }],
  "In $get_weather_nyc.city it has $get_weather_nyc.temp °C, $5 and $nothing.",
];
const shown = "In New York it has 21 °C, $5 and $nothing.";

function agentWith(said: readonly Step[], more: { deltaChars?: number } = {}) {
  const model = scriptedModel(said, more);
  return { model, agent: new ToolLoopAgent({ model, instructions: "Be brief.", tools }) };
}

/** Returns all variable lists in the prompt of a call. */
function listsIn(call: { prompt: readonly unknown[] } | undefined): readonly string[] {
  const said = JSON.stringify(call?.prompt ?? []);
  return Array.from(said.matchAll(/<variables>.*?<\/variables>/g), ([list]) => list);
}

describe("generate", () => {
  it("gives tools values and the caller text, and records references", async () => {
    const { agent, model } = agentWith(steps);
    seen.length = 0;
    const result = await withToolVariables(agent).generate({ prompt: "How warm is it?" });

    expect(seen).toEqual([{ first: { temp: 21 }, limit: 20 }]);
    expect(result.text).toBe(shown);
    expect(result.output).toBe(shown);
    expect(result.finalStep.text).toBe(steps[2]);
    const recorded = JSON.stringify(result.responseMessages);
    expect(recorded).toContain('"first":"$get_weather_nyc"');
    expect(recorded).toContain("In $get_weather_nyc.city it has");
    expect(recorded).not.toContain("497,498,499");
    expect(JSON.stringify(model.calls)).not.toContain("497,498,499");
    expect(result.steps[0]?.toolResults[0]?.output).toMatchObject({
      $var: "get_weather_nyc",
      type: "object",
      try: expect.arrayContaining(["$get_weather_nyc.city: string"]),
    });
    expect(result.steps[1]?.toolResults[0]?.output).toMatchObject({ value: { warmer: true } });
  });

  it("guides the model once, in detail from the first handle on, and lists variables that it does not see", async () => {
    const { agent, model } = agentWith([...steps, "Still."]);
    const wrapped = withToolVariables(agent);
    await wrapped.generate({ prompt: "How warm is it?" });
    for (const { prompt } of model.calls) {
      const [system, ...others] = prompt;
      expect(system?.content).toMatch(/^Be brief\.\n\nWrite results as [^.]*\.path"[^.]*\.$/);
      expect(others.filter(({ role }) => role === "system")).toEqual([]);
    }
    const tails = model.calls.map(listsIn);
    expect(tails.map(({ length }) => length)).toEqual([0, 1, 1]);
    expect(tails[1]).toEqual(tails[2]);
    expect(tails[2]?.[0]).toMatch(
      /^<variables>\\nIn any argument or answer: \$name\[-5:\].*itself\.\\n<\/variables>$/,
    );
    await wrapped.generate({ prompt: "And now?" });
    const [later] = model.calls.slice(-1).map(listsIn);
    expect(later?.[0]).toContain("$get_weather_nyc: object");
    expect(later?.[0]).toContain("$compare");
  });
});

describe.each([1, 3, 1_000])("stream in deltas of %d characters", (deltaChars) => {
  it("expands the parts, each text before what follows it", async () => {
    const { agent } = agentWith(steps, { deltaChars });
    const result = await withToolVariables(agent).stream({ prompt: "How warm is it?" });
    const types: string[] = [];
    let text = "";
    for await (const part of result.stream) {
      types.push(part.type);
      if (part.type === "text-delta") text += part.text;
    }
    expect(text).toBe(shown);
    expect(types.lastIndexOf("text-delta")).toBeLessThan(types.indexOf("text-end"));
    expect(types.at(-1)).toBe("finish");
  });
});

it("a client that keeps the conversation sees values, but sends back references", async () => {
  const { agent, model } = agentWith([...steps, "Still $get_weather_nyc.temp."]);
  const wrapped = withToolVariables(agent);
  const say = async (uiMessages: readonly UIMessage[]) => {
    const stream = await createAgentUIStream({ agent: wrapped, uiMessages: [...uiMessages] });
    let message: UIMessage | undefined;
    for await (const state of readUIMessageStream({ stream })) message = state;
    if (message === undefined) throw new Error("There is no answer.");
    return JSON.parse(JSON.stringify(message)) as UIMessage;
  };
  const ask = (id: string, text: string): UIMessage => ({
    id,
    role: "user",
    parts: [{ type: "text", text }],
  });
  const question = ask("1", "How warm is it?");
  const answer = { ...(await say([question])), id: "2" };
  expect(answer.parts.at(-1)).toMatchObject({ type: "text", text: shown });
  expect(JSON.stringify(answer)).not.toContain("497,498,499");

  const again = await say([question, answer, ask("3", "And now?")]);
  expect(again.parts.at(-1)).toMatchObject({ type: "text", text: "Still 21." });
  const sent = JSON.stringify(model.calls.at(-1)?.prompt);
  expect(sent).toContain("In $get_weather_nyc.city it has");
  expect(sent).not.toContain("New York it has");
  expect(sent).toContain('"$var":"get_weather_nyc"');
});

describe("options", () => {
  it("name variables by tool, input and output", async () => {
    const { agent } = agentWith([steps[0] ?? "", "$get_weather_NYC_21.temp"]);
    const naming = (name: string, input: unknown, output: unknown) =>
      [name, (input as { location: string }).location, (output as { temp: number }).temp].join("_");
    const wrapped = withToolVariables(agent, { naming });
    expect((await wrapped.generate({ prompt: "?" })).text).toBe("21");
  });

  it("delete variables that have expired", async () => {
    let now = Date.UTC(2020, 0, 1);
    const store = new MemoryStore({ now: () => now });
    await store.save({ name: "old", value: "stale", ttlMs: 60_000 });
    const { agent } = agentWith(["It is $old.", "It is $old."]);
    now = Date.now();
    const result = await withToolVariables(agent, { store }).generate({ prompt: "?" });
    expect(result.text).toBe("It is $old.");
    expect(store.tombstone("old")).toMatchObject({ reason: expect.any(String) });
  });

  it("find the store of each call, so that conversations do not see each other's", async () => {
    const model = scriptedModel([steps[0] ?? "", "$get_weather_nyc.temp", "$get_weather_nyc.temp"]);
    const callOptionsSchema = z.object({ conversation: z.string() });
    const agent = new ToolLoopAgent({ model, tools, callOptionsSchema });
    const stores = new Map<string, MemoryStore>();
    const wrapped = withToolVariables(agent, {
      store: ({ options }) => {
        const key = options?.conversation ?? "";
        const store = stores.get(key) ?? new MemoryStore();
        stores.set(key, store);
        return store;
      },
    });
    const one = await wrapped.generate({ prompt: "?", options: { conversation: "one" } });
    const two = await wrapped.generate({ prompt: "?", options: { conversation: "two" } });
    expect([one.text, two.text]).toEqual(["21", "$get_weather_nyc.temp"]);
    expect(listsIn(model.calls.at(-1))).toEqual([]);
  });
});

it("an agent's own hooks prepare the call and each step without seeing the list", async () => {
  const model = scriptedModel([...steps, "Never."]);
  const listed: number[] = [];
  const agent = new ToolLoopAgent({
    model,
    tools,
    prepareCall: (call) => ({ ...call, instructions: "Prepared." }),
    prepareStep: ({ messages, stepNumber }) => {
      listed.push(listsIn({ prompt: messages }).length);
      return stepNumber === 2 ? { toolChoice: "none", instructions: "Last." } : {};
    },
  });
  const result = await withToolVariables(agent).generate({ prompt: "How warm is it?" });
  expect(result.text).toBe(shown);
  expect(listed).toEqual([0, 0, 0]);
  expect(model.calls.map(({ toolChoice }) => toolChoice?.type)).toEqual(["auto", "auto", "none"]);
  expect(model.calls[0]?.prompt[0]?.content).toMatch(/^Prepared\.\n\nWrite results/);
  expect(model.calls[2]?.prompt[0]?.content).toMatch(/^Last\.\n\nWrite results/);
});

const take = tool({ inputSchema: z.object({ it: z.string() }), execute: ({ it: given }) => given });
const wrong = [[{ tool: "tak", input: { it: "this" } }], "Done."] as const;
const stopWhen = isStepCount(3);

/** Returns the results of the first step as the model reads them. */
const shownTo = (model: ReturnType<typeof scriptedModel>) =>
  JSON.stringify(model.calls[1]?.prompt.filter(({ role }) => role === "tool"));

it.each(["generate", "stream"] as const)(
  "a model that calls an unknown tool reads similar names, but no class name of the SDK: %s",
  async (way) => {
    const model = scriptedModel(wrong);
    const agent = withToolVariables(new ToolLoopAgent({ model, tools: { take }, stopWhen }));
    const { text, steps: made } = await agent[way]({ prompt: "Take this." });
    expect(await text).toBe("Done.");
    expect(shownTo(model)).toContain('"unknown_tool: There is no tool tak. Did you mean: take."');
    const [call] = (await made)[0]?.toolCalls ?? [];
    expect(call !== undefined && "error" in call && NoSuchToolError.isInstance(call.error)).toBe(
      true,
    );
  },
);

it.each([
  ["a plain text (cloudflare/agents#115, #441)", new Response("It is $x.n.")],
  ["an error", Response.json({ error: "$x.n" }, { status: 500 })],
  ["nothing", new Response(null, { status: 204 })],
])("passes on a response with %s as it is", async (_, response) => {
  const same = expandResponse(response.clone(), new MemoryStore());
  expect([same.status, await same.text()]).toEqual([response.status, await response.text()]);
});

type Part = TextStreamPart<ToolSet>;

async function expanded(parts: readonly Part[]): Promise<readonly Part[]> {
  const store = new MemoryStore();
  await store.save({ name: "x", value: { n: 4 } });
  const stream = new ReadableStream<Part>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return readAll(stream.pipeThrough(expandStream(store)));
}

async function readAll(stream: ReadableStream<Part>): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function text(id: string, ...deltas: readonly string[]): readonly Part[] {
  return [
    { type: "text-start", id },
    ...deltas.map((delta): Part => ({ type: "text-delta", id, text: delta })),
    { type: "text-end", id },
  ];
}

it("keeps the provider metadata at the end of a text, and adds that the text was expanded", async () => {
  const [start, ...others] = text("a", "It is $x.", "n.");
  const parts = await expanded([
    { ...start, providerMetadata: { openai: { itemId: "1" } } } as Part,
    ...others,
    ...text("b", "Nothing here."),
  ]);
  const [first, second] = parts.filter(({ type }) => type === "text-end");
  expect(first).toEqual({
    type: "text-end",
    id: "a",
    providerMetadata: { openai: { itemId: "1" }, byref: { written: "It is $x.n." } },
  });
  expect(second).toEqual({ type: "text-end", id: "b" });
});

it("a text without a start begins with its first piece, and its end is not held back for ever", async () => {
  const [, ...pieces] = text("a", "It is $x.", "n.", " Or $x");
  const parts = await expanded(pieces.slice(0, -1));
  const shown = parts.map((part) => (part.type === "text-delta" ? part.text : ""));
  expect(shown.join("")).toBe('It is 4. Or {"n":4}');
});
