import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { tool } from "ai";
import { finish, reasoning, toolCall } from "byref/testing";
import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  acceptablePrompt as acceptable,
  type PromptReader,
} from "../../src/turn/model/acceptable-prompt.ts";
import { startStrictProviders, type StrictProvider } from "../support/strict-providers.ts";
import { SIGNATURE } from "../support/strict-rules.ts";
import { Conversation } from "../support/turn.ts";

// The SDK would warn about reasoning that a provider does not take.
globalThis.AI_SDK_LOG_WARNINGS = false;

let strict: Awaited<ReturnType<typeof startStrictProviders>>;

beforeAll(async () => {
  strict = await startStrictProviders();
});

afterAll(() => strict.stop());

type Message = LanguageModelV4Prompt[number];
type AssistantPart = Extract<Message, { role: "assistant" }>["content"][number];

const tools: NonNullable<LanguageModelV4CallOptions["tools"]> = [
  { type: "function", name: "look", inputSchema: { type: "object", properties: {} } },
];

const user = (...texts: readonly string[]): Message => ({
  role: "user",
  content: texts.map((text) => ({ type: "text", text })),
});
const assistant = (...content: AssistantPart[]): Message => ({ role: "assistant", content });
const text = (value: string): AssistantPart => ({ type: "text", text: value });
const thinking: AssistantPart = {
  type: "reasoning",
  text: "Let me see.",
  providerOptions: { anthropic: { signature: SIGNATURE } },
};
const ofOpenai: AssistantPart = {
  type: "reasoning",
  text: "Let me see.",
  providerOptions: { openai: { itemId: "rs_1", reasoningEncryptedContent: "gAAA" } },
};
const picture: AssistantPart = {
  type: "file",
  mediaType: "image/png",
  data: { type: "data", data: "iVBORw0KGgo=" },
};
const call = (toolCallId: string, about: Partial<Call> = {}): AssistantPart => ({
  type: "tool-call",
  toolCallId,
  toolName: "look",
  input: { at: 1 },
  ...about,
});
interface Call {
  readonly toolName: string;
  readonly input: unknown;
  readonly providerExecuted: boolean;
}
const result = (toolCallId: string, value = "Seen.", type: "text" | "error-text" = "text") => ({
  type: "tool-result" as const,
  toolCallId,
  toolName: "look",
  output: { type, value },
});
const results = (...content: readonly ReturnType<typeof result>[]): Message => ({
  role: "tool",
  content: [...content],
});
const tail = user("<variables>\n$seen: 3 characters\n</variables>");

/** The prompt of a reader, which knows the list of variables by identity. */
const acceptablePrompt = (prompt: LanguageModelV4Prompt, reader: PromptReader) =>
  acceptable(prompt, { ...reader, hasList: prompt.at(-1) === tail });

/** Histories that providers refuse, by what is wrong with them. */
const histories: readonly (readonly [what: string, ...history: readonly Message[]])[] = [
  ["an answer ends with thinking", user("Hi."), assistant(thinking), user("And?")],
  ["thinking follows a text", user("Hi."), assistant(text("So."), thinking), user("And?")],
  ["an answer of OpenAI ends with reasoning", user("Hi."), assistant(ofOpenai), user("And?")],
  [
    "blank text before a call",
    user("Hi."),
    assistant(text("\n\n"), call("call_000001")),
    results(result("call_000001")),
    assistant(text("So.")),
    user("And?"),
  ],
  [
    "an answer of characters that cannot be seen (zoedolan/Vybn#2895)",
    user("Hi."),
    assistant(text("\u200b\ufeff")),
    user("And?"),
  ],
  ["a blank answer", user("Hi."), assistant(text("\n")), user("And?")],
  ["an empty answer", user("Hi."), assistant(text("")), user("And?")],
  ["a picture as an answer (mastra-ai/mastra#22159)", user("Hi."), assistant(picture), user("?")],
  ["a blank question", user("   "), assistant(text("So.")), user("And?")],
  ["a blank text in a question", user("\n", "Hi."), assistant(text("So.")), user("And?")],
  ...["$READFILE", "multi_tool_use.parallel", "", "a".repeat(65), "3d"].map(
    (toolName) =>
      [
        `a call of the tool "${toolName.slice(0, 30)}"`,
        user("Hi."),
        assistant(thinking, call("call_000001", { toolName }), call("call_000002")),
        results(result("call_000001", "unknown_tool: There is none."), result("call_000002")),
        assistant(call("call_000003", { toolName })),
        results(result("call_000003", "unknown_tool: There is none.")),
        assistant(text("So.")),
        user("And?"),
      ] as const,
  ),
  ...["functions.look:0", "", "1", "call_000001", `call_${"a".repeat(40)}`, "é".repeat(9)].map(
    (id) =>
      [
        `the id "${id.slice(0, 30)}", repeated`,
        user("Hi."),
        assistant(call(id)),
        results(result(id)),
        assistant(text("So.")),
        user("Again."),
        assistant(call(id)),
        results(result(id)),
        assistant(text("So.")),
        user("And?"),
      ] as const,
  ),
  ...[[], null, 5, "{", true].map(
    (input) =>
      [
        `the input ${JSON.stringify(input)}`,
        user("Hi."),
        assistant(call("call_000001", { input })),
        results(result("call_000001", "invalid_tool_input: No.", "error-text")),
        tail,
      ] as const,
  ),
  [
    "a call without a result",
    user("Hi."),
    assistant(call("call_000001"), call("call_000002")),
    results(result("call_000002")),
    user("And?"),
  ],
  ["a call in an answer that ends there", user("Hi."), assistant(call("call_000001"))],
  ["a result without a call", user("Hi."), results(result("call_000001")), user("And?")],
  [
    "a result after the next question",
    user("Hi."),
    assistant(call("call_000001")),
    user("And?"),
    results(result("call_000001")),
  ],
  [
    "an empty result",
    user("Hi."),
    assistant(call("call_000001"), call("call_000002")),
    results(result("call_000001", ""), result("call_000002", " ", "error-text")),
  ],
  [
    "half an emoji",
    user("Hi \ud83d."),
    assistant(text("So \ude00."), call("call_000001", { input: { "\ud83d": ["\ud83d"] } })),
    results(result("call_000001", "Seen \ud83d.")),
  ],
  ["two questions in a row", user("Hi."), user("And?")],
  ["two answers in a row", user("Hi."), assistant(text("A.")), assistant(text("B.")), user("?")],
  [
    "the list of variables after the question",
    user("Hi."),
    assistant(text("So.")),
    user("?"),
    tail,
  ],
  [
    "the list after a result",
    user("Hi."),
    assistant(call("call_000001")),
    results(result("call_000001")),
    tail,
  ],
  [
    "a question after a result",
    user("Hi."),
    assistant(call("call_000001")),
    results(result("call_000001")),
    user("And?"),
    tail,
  ],
  [
    "a tool that another provider ran",
    user("Hi."),
    assistant(
      text("I search."),
      call("srvtoolu_01", { toolName: "web_search", providerExecuted: true }),
      { ...result("srvtoolu_01"), toolName: "web_search" },
      text("So."),
    ),
    user("And?"),
  ],
];

const readers = () =>
  strict.providers.map((provider) => {
    const { provider: name, modelId } = provider.model;
    return { provider, reader: { provider: name, modelId, tools } };
  });

async function errorsOf(provider: StrictProvider, prompt: LanguageModelV4Prompt) {
  try {
    const { stream } = await provider.model.doStream({ prompt, tools });
    await stream.cancel();
  } catch {
    // The endpoint notes why.
  }
  return provider.takeErrors();
}

describe("a history that providers refuse", () => {
  it.each(histories.map(([what, ...history]) => ({ what, history })))(
    "because of $what is acceptable to all",
    async ({ history }) => {
      const prompt: LanguageModelV4Prompt = [{ role: "system", content: "Help." }, ...history];
      const refused = await Promise.all(strict.providers.map((one) => errorsOf(one, prompt)));
      expect(refused.flat()).not.toEqual([]);
      const errors = await Promise.all(
        readers().map(({ provider, reader }) =>
          errorsOf(provider, acceptablePrompt(prompt, reader)),
        ),
      );
      expect(errors.flat()).toEqual([]);
    },
  );

  it("is acceptable to Bedrock without tools", async () => {
    const bedrock = readers().find(({ provider }) => provider.name === "Bedrock");
    const prompt = [user("Hi."), assistant(call("call_000001")), results(result("call_000001"))];
    const reader = { provider: "compatible.chat", modelId: "nova", tools: [] };
    const accepted = acceptablePrompt(prompt, reader);
    const { stream } = (await bedrock?.provider.model.doStream({ prompt: accepted })) ?? {};
    await stream?.cancel();
    expect(bedrock?.provider.takeErrors()).toEqual([]);
    expect(JSON.stringify(accepted)).toContain('You called \\"look\\" with {\\"at\\":1}.');
  });
});

describe("a prompt that is acceptable", () => {
  it("begins like the one before it, whatever follows", () => {
    for (const { reader } of readers()) {
      const ids = ["functions.look:0", "functions.look:0", "call_000001", "call_000001"];
      const history = ids.flatMap((id, at) => [
        user(`Question ${at}.`),
        assistant(call(id)),
        results(result(id)),
        assistant(text("So.")),
      ]);
      const whole = acceptablePrompt(history, reader);
      for (let length = 4; length < history.length; length += 4) {
        const before = acceptablePrompt(history.slice(0, length), reader);
        expect(whole.slice(0, before.length)).toEqual(before);
      }
    }
  });

  it.each(["You called the wrong tool.", "<variables>\n$seen: 3 characters\n</variables>"])(
    "keeps a question as one, though it begins like a message of the runtime: %j",
    (said) => {
      const question = user(said);
      const history = [user("Hi."), assistant(call("abc123XYZ")), results(result("abc123XYZ"))];
      for (const { reader } of readers())
        expect(acceptablePrompt([...history, question], reader).at(-1)).toEqual(question);
    },
  );

  it("keeps the ids from which Kimi reads the names of tools", () => {
    const reader = {
      provider: "workersai.chat",
      modelId: "@cf/moonshotai/kimi-k2",
      tools,
    };
    const asked = [
      user("Hi."),
      assistant(call("functions.look:0")),
      results(result("functions.look:0")),
    ];
    expect(acceptablePrompt(asked, reader)).toEqual(asked);
  });
});

describe("a tool that the provider runs", () => {
  const search = call("srvtoolu_01", { toolName: "web_search", providerExecuted: true });
  const reader = {
    provider: "anthropic.messages",
    modelId: "claude-test",
    tools: [
      {
        type: "provider" as const,
        id: "anthropic.web_search_20250305" as const,
        name: "web_search",
        args: {},
      },
    ],
  };

  it("and that has paused is at the end of the prompt", () => {
    const prompt = [user("Hi."), assistant(text("I search."), search), tail];
    expect(acceptablePrompt(prompt, reader)).toEqual([prompt[0], tail, prompt[1]]);
  });

  it("is a call of an ordinary tool to another provider", () => {
    const found = { ...result("srvtoolu_01"), toolName: "web_search" };
    const prompt = [
      user("Hi."),
      assistant(text("I search."), search, found, text("So.")),
      user("?"),
    ];
    const other = { ...reader, provider: "openai.responses", modelId: "gpt-test" };
    expect(acceptablePrompt(prompt, other).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    expect(acceptablePrompt(prompt, reader)).toEqual(prompt);
  });
});

it("after a turn that was stopped in its thinking or in a call, each provider takes the next question", async () => {
  const look = tool({ inputSchema: z.object({ at: z.number() }), execute: () => "Seen." });
  const metadata = { anthropic: { signature: SIGNATURE } };
  const step = [
    reasoning("Hm.", { metadata }),
    toolCall("look", { at: 1 }, { chunks: 2 }),
    finish(),
  ];
  for (const type of ["reasoning-end", "tool-input-delta"]) {
    const chat = new Conversation({ tools: { look } });
    const stop = new AbortController();
    await chat.say({
      steps: [step],
      signal: stop.signal,
      onChunk: (chunk) => void (chunk.type === type && stop.abort()),
    });
    for (const { name, model, takeErrors } of strict.providers) {
      const { result } = await chat.say({ model, steps: [], question: `And now, ${name}?` });
      expect([result.error, takeErrors()]).toEqual([undefined, []]);
    }
  }
});
