import {
  generateText,
  isStepCount,
  type ModelMessage,
  tool,
  ToolLoopAgent,
  type ToolSet,
  type ToolResultPart,
  type InferUITools,
} from "ai";
import { describe, expect, it, expectTypeOf } from "vitest";
import * as z from "zod";
import {
  MemoryStore,
  requireTrusted,
  type ToolVariablesOptions,
  withToolVariables,
  wrapToolApproval,
  wrapTools,
  withGuide,
  type VariableOutput,
} from "../../src/agent.ts";
import { scriptedModel, type Step } from "../../../testing/src/testing.ts";
import { SEND } from "../../../../test/support/approving-agent.ts";
import { Taint } from "../../../../src/store/labels.ts";
import { showsUntrusted } from "../../src/agent/step-prompt.ts";

const seen: unknown[] = [];
const look = tool({
  inputSchema: z.object({ at: z.unknown() }),
  execute: ({ at }) => {
    seen.push(at);
    return { found: at };
  },
});
const hang = tool({ inputSchema: z.object({}), execute: () => new Promise(() => undefined) });

/** Runs an agent with these options and a scripted model. Returns its answer, last prompt and tool outputs. */
async function run(
  said: readonly Step[],
  { tools = { look }, ...options }: ToolVariablesOptions & { readonly tools?: ToolSet } = {},
) {
  seen.length = 0;
  const store = options.store instanceof MemoryStore ? options.store : new MemoryStore();
  if (store.count() === 0) await store.save({ name: "x", value: { a: 5 } });
  const model = scriptedModel(said);
  const agent = withToolVariables(new ToolLoopAgent({ model, tools }), { ...options, store });
  const { text, steps } = await agent.generate({ prompt: "Go." });
  const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
  const { toolResults = [] } = steps[0] ?? {};
  return {
    text,
    prompt,
    store,
    model,
    outputs: toolResults.map(({ output }) => output as unknown),
  };
}

const call = (at: unknown, more = {}): Step => [{ tool: "look", input: { at, ...more } }];

describe("syntaxes", () => {
  const syntaxes = ["mustache"] as const;

  it("are read alike in inputs and answers, and no others are", async () => {
    const { text } = await run([call("{{x.a}}"), "{{x.a}} and $x.a"], { syntaxes });
    expect([seen, text]).toEqual([[5], "5 and $x.a"]);
    await run([call("$x.a"), "Done."], { syntaxes });
    expect(seen).toEqual(["$x.a"]);
  });

  it("omit the guide if none of them is allowed inside a text", async () => {
    const { prompt } = await run(["Hello."], { syntaxes: ["target"] });
    expect(prompt).not.toContain("Write results as");
    const both = await run(["Hello."], { syntaxes: ["mustache", "dollar"] });
    expect(both.prompt).toContain("Write results as");
  });
});

it("outputPath offers the model a parameter if it is true, and saves there", async () => {
  const step = call(1, { _outputPath: "$state.user", _description: "The user" });
  const { store, model } = await run([step, "Done."], { outputPath: true });
  expect(model.calls[0]?.tools?.[0]).toMatchObject({
    inputSchema: { properties: { _outputPath: {}, _description: {} } },
  });
  expect([seen, await store.read("state")]).toEqual([[1], { user: { found: 1 } }]);
  expect(store.info("state")?.description).toBe("The user");
});

describe("policies", () => {
  it("pass a secret to the tool that lists it only", async () => {
    const store = new MemoryStore();
    await store.save({ name: "x", value: "hunter2", visibility: "secret" });
    await run([call("$x"), "Done."], { store, policies: { look: { secrets: ["x"] } } });
    expect(seen).toEqual(["hunter2"]);
    const { prompt } = await run([call("$x"), "Sorry."], { store });
    expect([seen, prompt.includes("variable_secret")]).toEqual([[], true]);
  });

  it("seal results", async () => {
    const { outputs } = await run([call(1), "Done."], { policies: { look: { sealed: true } } });
    expect(outputs).toEqual([expect.objectContaining({ visibility: "sealed" })]);
  });

  it("mark untrusted content; untrusted: hide hides it", async () => {
    const policies = { look: { trusted: false, source: "web" } };
    const shown = await run([call(1), "Done."], { policies });
    expect(shown.outputs).toEqual([{ $var: "look_1", value: { found: 1 }, untrusted: true }]);
    const hidden = await run([call("beware"), "Done."], { policies, untrusted: "hide" });
    expect(hidden.outputs).toMatchObject([{ visibility: "hidden" }]);
    // A new conversation, whose messages do not show the variable.
    const later = await run(["Done."], { policies, untrusted: "hide", store: hidden.store });
    expect(later.prompt).toContain("$look_beware: object (1) hidden, untrusted");
  });

  it("taint what the model has been shown, in this call and the next", async () => {
    const taint = new Taint();
    await run([call(1), "Done."], { policies: { look: { trusted: false } }, taint });
    expect(taint.isTainted).toBe(true);
    await run([call(1), "Done."], { taint: new Taint(true), policy: requireTrusted(["look"]) });
    expect(seen).toEqual([]);
  });

  it("taint a model whose history contains untrusted content, even after a restart", async () => {
    const options = { policies: { look: { trusted: false } }, policy: requireTrusted(["send"]) };
    const tools = { look, send: look };
    const first = withToolVariables(
      new ToolLoopAgent({ model: scriptedModel([call("beware"), "Done."]), tools }),
      options,
    );
    const { responseMessages } = await first.generate({ prompt: "Go." });
    seen.length = 0;
    const messages: ModelMessage[] = [
      { role: "user", content: "Go." },
      ...responseMessages,
      { role: "user", content: "Send it." },
    ];
    const model = scriptedModel([[{ tool: "send", input: { at: "beware" } }]]);
    const again = withToolVariables(new ToolLoopAgent({ model, tools }), options);
    const { content } = await again.generate({ messages });
    expect(seen).toEqual([]);
    expect(content.some(({ type }) => type === "tool-approval-request")).toBe(true);
  });
});

const shownAs = (type: "text" | "json") => ({
  tools: { look: { ...look, toModelOutput: () => ({ type, value: "It is 1." }) } },
});
const untrusted = { policies: { look: { trusted: false } } };

it.each<[string, Parameters<typeof run>[1] & object, string]>([
  ["a time limit", { tools: { look: hang }, toolMs: 1 }, "tool_timeout: look did not finish"],
  ["a policy", { policy: () => ({ deny: "no" }) }, "tool_denied: look was not allowed: no"],
  ["a tool's own output", shownAs("text"), "$look_1: It is 1."],
  [
    "an untrusted tool's own text",
    { ...shownAs("text"), ...untrusted },
    "$look_1, untrusted: It is 1.",
  ],
  [
    "an untrusted tool's own JSON",
    { ...shownAs("json"), ...untrusted },
    '{"$var":"look_1","value":"It is 1.","untrusted":true}',
  ],
])("the model reads what becomes of a call with %s", async (_, options, said) => {
  const { prompt } = await run([call(1), "Done."], options);
  expect(prompt).toContain(said);
});

const send = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

it("wrapTools and wrapToolApproval, without an agent run in generateText what a person approved, and nothing else", async () => {
  const store = new MemoryStore();
  await store.save({ name: "draft", value: "harmless" });
  const options = { store };
  const toolApproval = wrapToolApproval({ send: "user-approval" }, { send }, options);
  const model = scriptedModel([SEND, SEND, "Done."]);
  const wrapped = { tools: wrapTools({ send }, options), toolApproval, model };
  const ask = await generateText({ ...wrapped, prompt: "Go." });
  const request = ask.content.find((part) => part.type === "tool-approval-request");
  const messages: ModelMessage[] = [
    { role: "user", content: "Go." },
    ...ask.responseMessages,
    {
      role: "tool",
      content: [
        { type: "tool-approval-response", approved: true, approvalId: request?.approvalId ?? "" },
      ],
    },
  ];
  await store.save({ name: "draft", value: "EVIL" });
  const changed = await generateText({ ...wrapped, messages, stopWhen: isStepCount(2) });
  expect(JSON.stringify(changed.responseMessages)).toContain("approval_required");
  expect(changed.content.some(({ type }) => type === "tool-approval-request")).toBe(true);
  expect(store.list().map(({ name }) => name)).toEqual(["draft"]);
});

const value = { found: 1 };
const policies = { look: { trusted: false } };
it.each<[string, ToolResultPart["output"], object, boolean]>([
  ["with the mark", { type: "json", value: { $var: "x", value, untrusted: true } }, {}, true],
  ["as text with the mark", { type: "text", value: "$x, untrusted: a" }, {}, true],
  ["as text without it", { type: "text", value: "$x: a, untrusted: b" }, {}, false],
  [
    "as content with the mark",
    { type: "content", value: [{ type: "text", text: "$x, untrusted:" }] },
    {},
    true,
  ],
  ["of an untrusted tool", { type: "text", value: "a" }, { policies }, true],
  ["that failed, of an untrusted tool", { type: "error-text", value: "a" }, { policies }, true],
  [
    "that is hidden",
    { type: "json", value: { $var: "x", visibility: "hidden" } },
    { policies },
    false,
  ],
  [
    "that failed, where untrusted results are hidden",
    { type: "error-text", value: "a" },
    { policies, untrusted: "hide" },
    false,
  ],
])("a result in the history %s", (...row) => {
  const [, output, options, isUntrusted] = row;
  const part = { type: "tool-result", toolCallId: "1", toolName: "look", output } as const;
  const messages: ModelMessage[] = [
    { role: "user", content: "Go." },
    { role: "tool", content: [part] },
  ];
  expect(showsUntrusted(messages, options)).toBe(isUntrusted);
});

it("the guide is the whole prompt, is appended to a text or is another message, and is included once", () => {
  const guide = withGuide(undefined);
  expect(guide).toMatch(/^Write results as /);
  expect(withGuide("")).toBe(guide);
  const cached = {
    role: "system",
    content: "Be brief.",
    providerOptions: { a: { b: 1 } },
  } as const;
  expect(withGuide("Be brief.")).toBe(`Be brief.\n\n${String(guide)}`);
  expect(withGuide(cached)).toEqual([cached, { role: "system", content: guide }]);
  expect(withGuide([cached, cached])).toHaveLength(3);
  for (const style of ["auto", "full", "minimal"] as const) {
    for (const given of ["Be brief.", [cached]]) {
      const once = withGuide(given as Parameters<typeof withGuide>[0], style);
      expect(withGuide(once, style)).toBe(once);
    }
  }
});

it("a tool that the provider or the client executes is left alone", () => {
  const provider = {
    type: "provider" as const,
    isProviderExecuted: true as const,
    id: "any.search" as const,
    args: {},
    inputSchema: z.object({}),
    outputSchema: z.object({}),
  };
  const client = tool({ inputSchema: z.object({ n: z.number() }), outputSchema: z.string() });
  const wrapped = wrapTools({ provider, client }, { store: new MemoryStore() });
  expect(wrapped.provider).toBe(provider);
  expect(wrapped.client).toBe(client);
});

it("keeps the types of inputs and outputs", () => {
  const tools = {
    find: tool({
      inputSchema: z.object({ query: z.string(), limit: z.number().optional() }),
      execute: () => ({ hits: 3 }),
    }),
    ask: tool({ inputSchema: z.object({ what: z.string() }), outputSchema: z.string() }),
  };
  const wrapped = wrapTools(tools, { store: new MemoryStore() });
  type InClient = InferUITools<typeof wrapped>["find"];
  expectTypeOf<InClient["input"]>().toEqualTypeOf<{
    query: string;
    limit?: number | undefined;
  }>();
  expectTypeOf<InClient["output"]>().toEqualTypeOf<VariableOutput<{ hits: number }>>();
  expectTypeOf<(typeof wrapped)["ask"]>().toEqualTypeOf<(typeof tools)["ask"]>();
  const agent = new ToolLoopAgent({ model: scriptedModel([]), tools: wrapped });
  type Result = Awaited<ReturnType<typeof agent.generate>>;
  type Found = Extract<Result["staticToolResults"][number], { toolName: "find" }>;
  expectTypeOf<Found["output"]>().toEqualTypeOf<VariableOutput<{ hits: number }>>();
});
