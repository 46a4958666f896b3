/** Each channel through which an agent of the AI SDK gives away what its model wrote. */
import { Output, tool, ToolLoopAgent } from "ai";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore, withToolVariables } from "../../src/agent.ts";
import { scriptedModel } from "../../../testing/src/testing.ts";

const orders = Array.from({ length: 500 }, (_, id) => ({ id, total: id * 3, city: `City ${id}` }));
const tools = {
  list: tool({ inputSchema: z.object({}), execute: () => orders }),
};
const listing = [{ tool: "list", input: {} }];
const written = "Last $list_1[499].total, first $list_1[0].city.";
const shown = "Last 1497, first City 0.";

let store: MemoryStore;
beforeEach(async () => {
  store = new MemoryStore();
  await store.save({ name: "quoted", value: "It says $list_1[0].city." });
  await store.save({ name: "salary", value: 123_456, visibility: "sealed" });
  await store.save({ name: "pin", value: 4_711, visibility: "secret" });
});

type Settings = Partial<ConstructorParameters<typeof ToolLoopAgent<never, typeof tools>>[0]>;

function agentThatSays(text: string, more: Settings = {}) {
  const model = scriptedModel([listing, text]);
  return {
    model,
    agent: withToolVariables(new ToolLoopAgent({ model, tools, ...more }), { store }),
  };
}

/** Returns callbacks that record texts, and the rest of their events. */
function recording() {
  const texts: Record<string, string[]> = {};
  const histories: string[] = [];
  const callback = (name: string) => (event: { readonly text: string }) => {
    texts[name] = [...(texts[name] ?? []), event.text];
    const { steps, content } = event as { readonly steps?: unknown; readonly content?: unknown };
    histories.push(JSON.stringify([steps, content]));
  };
  return { texts, histories, callback };
}

describe.each(["generate", "stream"] as const)("callbacks of %s", (how) => {
  it.each([
    { of: "the agent", names: ["onStepEnd", "onEnd"] },
    { of: "the agent, in older names", names: ["onStepFinish", "onFinish"] },
    { of: "a call", names: ["onStepEnd", "onEnd"] },
    { of: "a call, in older names", names: ["onStepFinish", "onFinish"] },
  ])("of $of ($names) receive values, and histories references", async ({ of, names }) => {
    const { texts, histories, callback } = recording();
    const callbacks = Object.fromEntries(names.map((name) => [name, callback(name)]));
    const isCall = of.startsWith("a call");
    const { agent } = agentThatSays(written, isCall ? {} : callbacks);
    const result = await agent[how]({ prompt: "Which?", ...(isCall ? callbacks : {}) });
    await result.text;
    const [step = "", end = ""] = names;
    expect(texts).toEqual({ [step]: ["", shown], [end]: [shown] });
    expect(histories.join()).toContain(written);
    expect(histories.join()).not.toContain(shown);
  });
});

const answer = z.object({
  total: z.number(),
  id: z.string(),
  city: z.string(),
  first: z.object({ id: z.number(), total: z.number(), city: z.string() }),
  cities: z.array(z.string()),
  either: z.union([z.string(), z.number()]),
  maybe: z.number().nullable(),
});
const writtenAnswer = {
  total: "$list_1[499].total",
  id: "$list_1[7].id",
  city: "In $list_1[0].city.",
  first: "$list_1[0]",
  cities: "$list_1[0:2][*].city",
  either: "$list_1[2].total",
  maybe: "$list_1[3].id",
};
const shownAnswer = {
  total: 1497,
  id: "7",
  city: "In City 0.",
  first: orders[0],
  cities: ["City 0", "City 1"],
  either: 6,
  maybe: 3,
};

interface Row {
  readonly what: string;
  readonly output: Output.Output;
  readonly written: unknown;
  readonly shown: unknown;
}

const string = Output.object({ schema: z.object({ a: z.string() }) });
const number = Output.object({ schema: z.object({ a: z.number() }) });
const rows: readonly Row[] = [
  {
    what: "an object",
    output: Output.object({ schema: answer }),
    written: writtenAnswer,
    shown: shownAnswer,
  },
  {
    what: "a list",
    output: Output.array({ element: z.object({ id: z.number(), city: z.string() }) }),
    written: { elements: [{ id: "$list_1[1].id", city: "$list_1[1].city" }, "$list_1[2]"] },
    shown: [
      { id: 1, city: "City 1" },
      { id: 2, city: "City 2" },
    ],
  },
  {
    what: "a list that is one reference",
    output: Output.array({ element: z.number() }),
    written: { elements: "$list_1[0:3][*].total" },
    shown: [0, 3, 6],
  },
  {
    what: "a choice",
    output: Output.choice({ options: ["City 0", "City 1"] }),
    written: { result: "$list_1[1].city" },
    shown: "City 1",
  },
  { what: "JSON", output: Output.json(), written: { a: ["$list_1[1].id"] }, shown: { a: [1] } },
  {
    what: "a text, in a value",
    output: string,
    written: { a: "$quoted" },
    shown: { a: "It says $list_1[0].city." },
  },
  {
    what: "quotes and lines",
    output: string,
    written: { a: 'Say "$list_1[0].city"\n' },
    shown: { a: 'Say "City 0"\n' },
  },
  { what: "a sealed value", output: number, written: { a: "$salary" }, shown: { a: 123_456 } },
  { what: "a secret", output: string, written: { a: "$pin" }, shown: { a: "[secret: pin]" } },
  {
    what: "an unknown name",
    output: string,
    written: { a: "$nothing.x" },
    shown: { a: "$nothing.x" },
  },
  {
    what: "a missing path",
    output: string,
    written: { a: "$list_1[999]" },
    shown: { a: "$list_1[999]" },
  },
];

describe.each(rows)("structured output: $what", ({ output, written: json, shown: values }) => {
  it("has values where its schema has them, and the text stays as it was written", async () => {
    const { agent, model } = agentThatSays(JSON.stringify(json), { output } as Settings);
    const result = await agent.generate({ prompt: "Which?" });
    expect(result.output).toEqual(values);
    expect(result.text).toBe(JSON.stringify(json));
    expect(JSON.stringify(model.calls)).not.toMatch(/123456|4711/);
  });

  it("has values in a stream, too", async () => {
    const { agent } = agentThatSays(JSON.stringify(json), { output } as Settings);
    const result = await agent.stream({ prompt: "Which?" });
    const parts: unknown[] = [];
    for await (const part of result.partialOutputStream) parts.push(part);
    expect(parts.at(-1)).toEqual(values);
    expect(await result.output).toEqual(values);
    expect(await result.toTextStreamResponse().text()).toBe(JSON.stringify(json));
  });
});
