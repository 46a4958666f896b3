import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicModels } from "../../src/edge/models/anthropic.ts";
import { openaiCompatibleModels } from "../../src/edge/models/openai-compatible.ts";
import { readSettings } from "../../src/edge/settings.ts";
import { type Loopback, startLoopback } from "../support/loopback.ts";

/** What endpoints stream that call themselves compatible, and what a turn receives of it. */
interface Variant {
  readonly what: string;
  /** Chunks, or a whole body. */
  readonly sent: readonly (object | string)[] | string;
  readonly type?: string;
  readonly got: readonly string[];
}

const chunk = (delta: object | undefined, more: object = {}, top: object = {}) => ({
  id: "x",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
  ...top,
});
const hi = chunk({ role: "assistant", content: "hi" });
const call = (more: object) => {
  const named = { name: "w", arguments: '{"a":1}' };
  return chunk({ tool_calls: [{ index: 0, id: "c", type: "function", function: named, ...more }] });
};
const withInput = (input: unknown) => call({ function: { name: "w", arguments: input } });
const end = (reason: unknown = "stop") => chunk({}, { finish_reason: reason });
const counts = { prompt_tokens: 3, completion_tokens: 4 };
const answered = ["hi", "stop"];
const called = ['c w {"a":1}', "tool-calls"];

const completions: readonly Variant[] = [
  { what: "OpenAI's form", sent: [hi, end()], got: answered },
  {
    what: "no reason before the end (vllm-mlx#628, vllm#27572)",
    sent: [hi, end(null)],
    got: answered,
  },
  {
    what: "an empty reason (ollama#4357)",
    sent: [chunk({ content: "hi" }, { finish_reason: "" })],
    got: answered,
  },
  { what: "a call without a reason", sent: [call({})], got: called },
  {
    what: "nothing before the end",
    sent: [chunk({ role: "assistant", content: "" })],
    got: ["Response stream ended without a finish reason.", "error"],
  },
  {
    what: "a reason after each chunk (jcode#1326)",
    sent: [hi, end(), chunk({ content: "!" }), end()],
    got: ["hi", "!", "stop"],
  },
  {
    what: "an empty role (MiniMax-M2.5#2)",
    sent: [chunk({ role: "", content: "hi" }), end()],
    got: answered,
  },
  { what: "another role", sent: [chunk({ role: "model", content: "hi" }), end()], got: answered },
  {
    what: "a number for an id",
    sent: [chunk({ content: "hi" }, {}, { id: 7 }), end()],
    got: answered,
  },
  {
    what: "a date as a text",
    sent: [chunk({ content: "hi" }, {}, { created: "2026-11-30" }), end()],
    got: answered,
  },
  {
    what: "usage without choices (lobehub#9220)",
    sent: [hi, end(), { id: "x", usage: counts }],
    got: [...answered, "3 tokens"],
  },
  {
    what: "null for choices",
    sent: [hi, end(), { choices: null, usage: counts }],
    got: [...answered, "3 tokens"],
  },
  {
    what: "tokens as texts",
    sent: [hi, chunk({}, { finish_reason: "stop" }, { usage: { prompt_tokens: "3", total: "?" } })],
    got: [...answered, "3 tokens"],
  },
  {
    what: "null for an error",
    sent: [chunk({ content: "hi" }, {}, { error: null }), end()],
    got: answered,
  },
  ...["", false, {}, [], 0].map((error) => ({
    what: `${JSON.stringify(error)} for an error`,
    sent: [chunk({ content: "hi" }, {}, { error }), end()],
    got: answered,
  })),
  { what: "a number for a text", sent: [chunk({ content: 5 }), end()], got: ["5", "stop"] },
  { what: "null for a text", sent: [chunk({ content: null }), hi, end()], got: answered },
  {
    what: "reasoning that is no text",
    sent: [chunk({ reasoning: { at: 1 }, content: "hi" }), end()],
    got: answered,
  },
  { what: "pings and empty events", sent: ["", {}, hi, end()], got: answered },
  {
    what: "a message in place of the delta",
    sent: [
      chunk(undefined, { message: { role: "assistant", content: "hi" }, finish_reason: "stop" }),
    ],
    got: answered,
  },
  {
    what: "the message again at the end",
    sent: [hi, chunk(undefined, { message: { content: "hi" }, finish_reason: "stop" })],
    got: answered,
  },
  {
    what: "one completion as JSON",
    type: "application/json",
    sent: JSON.stringify(
      chunk(undefined, { message: { content: "hi" }, finish_reason: "stop" }, { usage: counts }),
    ),
    got: [...answered, "3 tokens"],
  },
  {
    what: "a chunk on each line",
    type: "application/x-ndjson",
    sent: `${JSON.stringify(hi)}\n${JSON.stringify(end())}\n`,
    got: answered,
  },
  {
    what: "lines that end with CR LF",
    sent: `data:${JSON.stringify(hi)}\r\n\r\ndata:${JSON.stringify(end())}\r\n\r\n`,
    got: answered,
  },
  {
    what: "an object for a call's arguments",
    sent: [withInput({ a: 1 }), end("tool_calls")],
    got: called,
  },
  {
    what: "all digits of such an object",
    sent: `data: ${JSON.stringify(withInput({ a: "N" })).replace('"N"', "12345678901234567890")}\n\ndata: [DONE]\n\n`,
    got: ['c w {"a":12345678901234567890}', "tool-calls"],
  },
  {
    what: "no arguments (OpenRouter ai-sdk-provider#287)",
    sent: [call({ function: { name: "w" } }), end("tool_calls")],
    got: ["c w ", "tool-calls"],
  },
  {
    what: "a text for a call's index",
    sent: [call({ index: "0" }), end("tool_calls")],
    got: called,
  },
  {
    what: "a number for a call's id",
    sent: [call({ id: 7 }), end("tool_calls")],
    got: ['7 w {"a":1}', "tool-calls"],
  },
  {
    what: "one call that is no list",
    sent: [
      chunk({ tool_calls: { id: "c", function: { name: "w", arguments: '{"a":1}' } } }),
      end("tool_calls"),
    ],
    got: called,
  },
  {
    what: "the older function_call",
    sent: [
      chunk({ function_call: { name: "w", arguments: '{"a"' } }),
      chunk({ function_call: { arguments: ":1}" } }),
      end("function_call"),
    ],
    got: ['? w {"a":1}', "tool-calls"],
  },
  { what: "an error as a text", sent: [{ error: "overloaded" }], got: ["overloaded", "error"] },
  {
    what: "an error of OpenAI",
    sent: [{ error: { message: "too long", code: "context" } }],
    got: ["too long", "error"],
  },
  {
    what: "an error of vLLM",
    sent: [{ object: "error", message: "too long", code: 400 }],
    got: ["too long", "error"],
  },
  {
    what: "an error of FastAPI",
    sent: [{ detail: [{ msg: "no" }] }],
    got: ['[{"msg":"no"}]', "error"],
  },
];

const started = {
  type: "message_start",
  message: {
    id: "m",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 3, output_tokens: 0 },
  },
};
const block = (content_block: object, ...deltas: readonly object[]) => [
  { type: "content_block_start", index: 0, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
  { type: "content_block_stop", index: 0 },
];
const hiBlock = block({ type: "text", text: "" }, { type: "text_delta", text: "hi" });
const callBlock = (more: object, ...texts: readonly string[]) =>
  block(
    { type: "tool_use", id: "c", name: "w", input: {}, ...more },
    ...texts.map((text) => ({ type: "input_json_delta", partial_json: text })),
  );
const stopped = (reason: string, more: object = { usage: { output_tokens: 4 } }) => [
  { type: "message_delta", delta: { stop_reason: reason }, ...more },
  { type: "message_stop" },
];
const said = ["hi", "stop", "3 tokens"];
const used = ['c w {"a":1}', "tool-calls", "3 tokens"];

const messages: readonly Variant[] = [
  { what: "Anthropic's form", sent: [started, ...hiBlock, ...stopped("end_turn")], got: said },
  {
    what: "no usage at the end (earendil-works/pi#6567)",
    sent: [started, ...hiBlock, ...stopped("end_turn", {})],
    got: said,
  },
  {
    what: "null for usage at the end",
    sent: [started, ...hiBlock, ...stopped("end_turn", { usage: null })],
    got: said,
  },
  {
    what: "no usage at the start",
    sent: [{ ...started, message: { role: "assistant" } }, ...hiBlock, ...stopped("end_turn")],
    got: ["hi", "stop", "0 tokens"],
  },
  {
    what: "a number for an id",
    sent: [
      { ...started, message: { ...started.message, id: 7 } },
      ...hiBlock,
      ...stopped("end_turn"),
    ],
    got: said,
  },
  {
    what: "a text with the start of its block",
    sent: [started, ...block({ type: "text", text: "hi" }), ...stopped("end_turn")],
    got: said,
  },
  {
    what: "events of other types",
    sent: [started, { type: "vendor.info" }, ...hiBlock, ...stopped("end_turn")],
    got: said,
  },
  {
    what: "an input with the start of its block",
    sent: [started, ...callBlock({ input: { a: 1 } }), ...stopped("tool_use")],
    got: used,
  },
  {
    what: "null for an input at the start",
    sent: [started, ...callBlock({ input: null }, '{"a":1}'), ...stopped("tool_use")],
    got: used,
  },
  {
    what: "null for a call's id",
    sent: [started, ...callBlock({ id: null }, '{"a":1}'), ...stopped("tool_use")],
    got: [' w {"a":1}', ...used.slice(1)],
  },
  {
    what: "a thought with the start of its block, and one without a text",
    sent: [
      started,
      ...block({ type: "thinking", thinking: "hm" }),
      ...block({ type: "thinking" }, { type: "thinking_delta", thinking: "so" }),
      ...hiBlock,
      ...stopped("end_turn"),
    ],
    got: ["(hm)", "(so)", ...said],
  },
  {
    what: "null and a number for texts",
    sent: [
      started,
      ...block({ type: "text" }, ...[null, 5].map((text) => ({ type: "text_delta", text }))),
      ...stopped("end_turn"),
    ],
    got: ["", "5", ...said.slice(1)],
  },
  {
    what: "an object for a call's input",
    sent: [
      started,
      ...block(
        { type: "tool_use", id: "c", name: "w" },
        { type: "input_json_delta", partial_json: { a: 1 } },
      ),
      ...stopped("tool_use"),
    ],
    got: used,
  },
  ...["0", undefined].map((index) => ({
    what: `${index === undefined ? "no index" : "a text for the index"} of a block`,
    sent: [started, ...hiBlock.map((event) => ({ ...event, index })), ...stopped("end_turn")],
    got: said,
  })),
  {
    what: "an error that says nothing",
    sent: [started, { type: "error", error: {} }],
    got: ["The endpoint failed."],
  },
  {
    what: "an error as a text",
    sent: [started, { type: "error", error: "overloaded" }],
    got: ["overloaded"],
  },
];

describe.each([
  { name: "openai-compatible", provider: openaiCompatibleModels, variants: completions },
  { name: "anthropic", provider: anthropicModels, variants: messages },
])("an endpoint for $name that sends", ({ name, provider, variants }) => {
  let server: Loopback;
  beforeAll(async () => {
    server = await startLoopback((request, response) => {
      const { sent = "", type = "text/event-stream" } =
        variants[Number(request.url?.split("/")[1])] ?? {};
      response.setHeader("content-type", type);
      const texts = typeof sent === "string" ? [] : [...sent, "[DONE]"];
      const events = texts.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
      response.end(
        typeof sent === "string" ? sent : events.map((data) => `data: ${data}\n\n`).join(""),
      );
    });
  });
  afterAll(() => server.down());

  it.each(variants.map(({ what, got }, index) => ({ what, got, index })))(
    "$what",
    async ({ got, index }) => {
      const MODEL_BASE_URL = `${server.url}/${index}`;
      const settings = readSettings({ MODEL: `${name}:m`, MODEL_API_KEY: "key", MODEL_BASE_URL });
      const model = provider.model("m", settings, {} as Cloudflare.Env) as LanguageModelV4;
      const content = [{ type: "text" as const, text: "?" }];
      const { stream } = await model.doStream({ prompt: [{ role: "user", content }] });
      const parts: string[] = [];
      for await (const part of stream) parts.push(...describePart(part));
      expect(parts).toEqual(got);
    },
  );
});

function describePart(part: LanguageModelV4StreamPart): readonly string[] {
  switch (part.type) {
    case "text-delta":
      return [part.delta];
    case "reasoning-delta":
      return [`(${part.delta})`];
    case "tool-call":
      // An id that the provider has made is long.
      return [
        `${part.toolCallId.length > 1 ? "?" : part.toolCallId} ${part.toolName} ${part.input}`,
      ];
    case "error":
      return [messageOf(part.error)];
    case "finish": {
      const { total } = part.usage.inputTokens;
      return [part.finishReason.unified, ...(total === undefined ? [] : [`${total} tokens`])];
    }
    default:
      return [];
  }
}

function messageOf(error: unknown): string {
  return String((error as { readonly message?: string }).message ?? error);
}
