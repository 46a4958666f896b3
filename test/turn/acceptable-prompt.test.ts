import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4,
} from "@ai-sdk/provider";
import { tool } from "ai";
import { finish, reasoning, toolCall } from "byref/testing";
import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  acceptablePrompt as acceptable,
  type PromptReader,
} from "../../src/turn/model/acceptable-prompt.ts";
import {
  SIGNATURE,
  anthropicRules,
  bedrockRules,
  type Body,
  chatRules,
  gemmaRules,
  googleRules,
  mistralRules,
  responsesRules,
  type Rule,
} from "../support/strict-rules.ts";
import { Conversation } from "../support/turn.ts";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { anthropicMessages } from "../support/anthropic-messages.ts";
import { startChatCompletions } from "../support/chat-completions.ts";
import {
  type EndpointStep,
  type ModelEndpoint,
  startModelEndpoint,
} from "../support/model-endpoint.ts";
import { openaiResponses } from "../support/openai-responses.ts";

/** A provider's package, whose requests a strict endpoint on the loopback address checks. */
interface StrictProvider {
  readonly name: string;
  readonly model: LanguageModelV4;
  /** The errors of the requests since the last call, each with the source of its rule. */
  takeErrors(): readonly string[];
}

/** Starts an endpoint for each provider. It answers "Done.", or 400 with the error of the first broken rule. */
async function startStrictProviders(): Promise<{
  readonly providers: readonly StrictProvider[];
  stop(): Promise<void>;
}> {
  const endpoints: Pick<ModelEndpoint, "down">[] = [];
  const strict = async <Given extends Body>(
    [name, rules]: readonly [name: string, rules: readonly Rule[]],
    starting: Promise<ModelEndpoint<Given>>,
    modelAt: (url: string) => LanguageModelV4,
  ): Promise<StrictProvider> => {
    const endpoint = await starting;
    const errors: string[] = [];
    endpoint.play((body) => {
      const broken = rules.flatMap(({ source, errors: errorsIn }) =>
        errorsIn(body).map((message) => ({ message, source })),
      );
      errors.push(...broken.map(({ message, source }) => `${name}: ${message} (${source})`));
      return answerTo(broken[0]?.message);
    });
    endpoints.push(endpoint);
    return { name, model: modelAt(endpoint.url), takeErrors: () => errors.splice(0) };
  };
  const chat = (name: string, rules: readonly Rule[], id: string) =>
    strict([name, rules], startChatCompletions(), (baseURL) =>
      createOpenAICompatible({ name: "compatible", baseURL })(id),
    );
  const providers = await Promise.all([
    strict(["Anthropic", anthropicRules], startModelEndpoint<Body>(anthropicMessages), (baseURL) =>
      createAnthropic({ baseURL, apiKey: "none" })("claude-test"),
    ),
    strict(
      ["OpenAI Responses", responsesRules],
      startModelEndpoint<Body>(openaiResponses),
      (baseURL) => createOpenAI({ baseURL, apiKey: "none" }).responses("gpt-test"),
    ),
    strict(["OpenAI Chat", chatRules], startChatCompletions(), (baseURL) =>
      createOpenAI({ baseURL, apiKey: "none" }).chat("gpt-test"),
    ),
    chat("Google", [...chatRules, ...googleRules], "gemini-test"),
    chat("Bedrock", [...chatRules, ...bedrockRules], "nova-test"),
    chat("Mistral", [...chatRules, ...mistralRules], "served"),
    chat("Gemma", [...chatRules, ...gemmaRules], "served"),
  ]);
  const stop = async () => void (await Promise.all(endpoints.map((endpoint) => endpoint.down())));
  return { providers, stop };
}

function answerTo(error: string | undefined): EndpointStep {
  if (error === undefined) return { kind: "text", text: "Done." };
  const body = { type: "error", error: { type: "invalid_request_error", message: error } };
  return { kind: "status", status: 400, body };
}

// The SDK would warn about reasoning that a provider does not take.
globalThis.AI_SDK_LOG_WARNINGS = false;

let strict: Awaited<ReturnType<typeof startStrictProviders>>;

beforeAll(async () => void (strict = await startStrictProviders()));

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
const PNG = { type: "data", data: "iVBORw0KGgo=" } as const;
const picture: AssistantPart = { type: "file", mediaType: "image/png", data: PNG };
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
/** A result with a text and an image. */
const seen = (toolCallId: string) => {
  const image = { type: "file" as const, mediaType: "image/png", data: PNG };
  const value = [{ type: "text" as const, text: "Seen." }, image];
  return { ...result(toolCallId), output: { type: "content" as const, value } };
};
const tail = user("<variables>\n$seen: 3 characters\n</variables>");

/** The prompt of a reader, which knows the list of variables by identity. */
const acceptablePrompt = (prompt: LanguageModelV4Prompt, reader: PromptReader) =>
  acceptable(prompt, { ...reader, hasList: prompt.at(-1) === tail });

const HI = user("Hi.");
const AND = user("And?");
const SO = assistant(text("So."));
const [ONE, TWO, THREE] = ["call_000001", "call_000002", "call_000003"] as const;
/** A call and its result. */
const looked = (id: string = ONE) => [assistant(call(id)), results(result(id))];
const NO_TOOL = "unknown_tool: There is none.";
const BAD_NAMES = ["$READFILE", "multi_tool_use.parallel", "", "a".repeat(65), "3d"];
const IDS = ["functions.look:0", "", "1", ONE, `call_${"a".repeat(40)}`, "é".repeat(9)];
const searching = call("srvtoolu_01", { toolName: "web_search", providerExecuted: true });
const searched = { ...result("srvtoolu_01"), toolName: "web_search" };

/** Histories that providers refuse, by what is wrong with them. */
const histories: readonly (readonly [what: string, history: readonly Message[]])[] = [
  ["an answer ends with thinking", [HI, assistant(thinking), AND]],
  ["thinking follows a text", [HI, assistant(text("So."), thinking), AND]],
  ["an answer of OpenAI ends with reasoning", [HI, assistant(ofOpenai), AND]],
  [
    "blank text before a call",
    [HI, assistant(text("\n\n"), call(ONE)), results(result(ONE)), SO, AND],
  ],
  [
    "an answer of characters that cannot be seen (zoedolan/Vybn#2895)",
    [HI, assistant(text("\u200b\ufeff")), AND],
  ],
  ["a blank answer", [HI, assistant(text("\n")), AND]],
  ["an empty answer", [HI, assistant(text("")), AND]],
  ["a picture as an answer (mastra-ai/mastra#22159)", [HI, assistant(picture), AND]],
  ["a blank question", [user("   "), SO, AND]],
  ["a blank text in a question", [user("\n", "Hi."), SO, AND]],
  ...BAD_NAMES.map(
    (toolName) =>
      [
        `a call of the tool "${toolName.slice(0, 30)}"`,
        [
          HI,
          assistant(thinking, call(ONE, { toolName }), call(TWO)),
          results(result(ONE, NO_TOOL), result(TWO)),
          assistant(call(THREE, { toolName })),
          results(result(THREE, NO_TOOL)),
          SO,
          AND,
        ],
      ] as const,
  ),
  ...IDS.map(
    (id) =>
      [
        `the id "${id.slice(0, 30)}", repeated`,
        [HI, ...looked(id), SO, user("Again."), ...looked(id), SO, AND],
      ] as const,
  ),
  ...[[], null, 5, "{", true].map(
    (input) =>
      [
        `the input ${JSON.stringify(input)}`,
        [
          HI,
          assistant(call(ONE, { input })),
          results(result(ONE, "invalid_tool_input: No.", "error-text")),
          tail,
        ],
      ] as const,
  ),
  ["a call without a result", [HI, assistant(call(ONE), call(TWO)), results(result(TWO)), AND]],
  ["a call in an answer that ends there", [HI, assistant(call(ONE))]],
  ["a result without a call", [HI, results(result(ONE)), AND]],
  ["a result after the next question", [HI, assistant(call(ONE)), AND, results(result(ONE))]],
  [
    "an empty result",
    [HI, assistant(call(ONE), call(TWO)), results(result(ONE, ""), result(TWO, " ", "error-text"))],
  ],
  [
    "half an emoji",
    [
      user("Hi \ud83d."),
      assistant(text("So \ude00."), call(ONE, { input: { "\ud83d": ["\ud83d"] } })),
      results(result(ONE, "Seen \ud83d.")),
    ],
  ],
  [
    "images in results (vercel/ai#8209)",
    [HI, assistant(call(ONE), call(TWO)), { role: "tool", content: [seen(ONE), seen(TWO)] }, tail],
  ],
  ["two questions in a row", [HI, AND]],
  ["two answers in a row", [HI, assistant(text("A.")), assistant(text("B.")), user("?")]],
  ["the list of variables after the question", [HI, SO, user("?"), tail]],
  ["the list after a result", [HI, ...looked(), tail]],
  ["a question after a result", [HI, ...looked(), AND, tail]],
  [
    "a tool that another provider ran",
    [HI, assistant(text("I search."), searching, searched, text("So.")), AND],
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

it.each(histories)("a history that providers refuse is made acceptable: %s", async (_, history) => {
  const prompt: LanguageModelV4Prompt = [{ role: "system", content: "Help." }, ...history];
  const refused = await Promise.all(strict.providers.map((one) => errorsOf(one, prompt)));
  expect(refused.flat()).not.toEqual([]);
  const errors = await Promise.all(
    readers().map(({ provider, reader }) => errorsOf(provider, acceptablePrompt(prompt, reader))),
  );
  expect(errors.flat()).toEqual([]);
});

it("a history that providers refuse is acceptable to Bedrock without tools", async () => {
  const bedrock = readers().find(({ provider }) => provider.name === "Bedrock");
  const prompt = [user("Hi."), assistant(call("call_000001")), results(result("call_000001"))];
  const reader = { provider: "compatible.chat", modelId: "nova", tools: [] };
  const accepted = acceptablePrompt(prompt, reader);
  const { stream } = (await bedrock?.provider.model.doStream({ prompt: accepted })) ?? {};
  await stream?.cancel();
  expect(bedrock?.provider.takeErrors()).toEqual([]);
  expect(JSON.stringify(accepted)).toContain('You called \\"look\\" with {\\"at\\":1}.');
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
    const reader = { provider: "workersai.chat", modelId: "@cf/moonshotai/kimi-k2", tools };
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
