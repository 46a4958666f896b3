import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicModels } from "../../src/edge/models/anthropic.ts";
import { openaiCompatibleModels } from "../../src/edge/models/openai-compatible.ts";
import { readSettings } from "../../src/edge/settings.ts";
import { type Loopback, startLoopback } from "../support/loopback.ts";

/** What endpoints stream that call themselves compatible: chunks, or a whole body. Then what a turn receives of it. */
type Variant = readonly [
  what: string,
  sent: readonly (object | string)[] | string,
  got?: readonly string[],
  contentType?: string,
];

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
const stop = { finish_reason: "stop" };
const counts = { prompt_tokens: 3, completion_tokens: 4 };
const answered = ["hi", "stop"];
const counted = [...answered, "3 tokens"];
const called = ['c w {"a":1}', "tool-calls"];
const byCall = end("tool_calls");
const message = { role: "assistant", content: "hi" };
const part = { id: "c", function: { name: "w", arguments: '{"a":1}' } };
const digits = JSON.stringify(withInput({ a: "N" })).replace('"N"', "12345678901234567890");

const completions: readonly Variant[] = [
  ["OpenAI's form", [hi, end()]],
  ["no reason before the end (vllm-mlx#628, vllm#27572)", [hi, end(null)]],
  ["an empty reason (ollama#4357)", [chunk({ content: "hi" }, { finish_reason: "" })]],
  ["a call without a reason", [call({})], called],
  [
    "nothing before the end",
    [chunk({ role: "assistant", content: "" })],
    ["Response stream ended without a finish reason.", "error"],
  ],
  [
    "a reason after each chunk (jcode#1326)",
    [hi, end(), chunk({ content: "!" }), end()],
    ["hi", "!", "stop"],
  ],
  ["an empty role (MiniMax-M2.5#2)", [chunk({ role: "", content: "hi" }), end()]],
  ["another role", [chunk({ role: "model", content: "hi" }), end()]],
  ["a number for an id", [chunk({ content: "hi" }, {}, { id: 7 }), end()]],
  ["a date as a text", [chunk({ content: "hi" }, {}, { created: "2026-11-30" }), end()]],
  ["usage without choices (lobehub#9220)", [hi, end(), { id: "x", usage: counts }], counted],
  ["null for choices", [hi, end(), { choices: null, usage: counts }], counted],
  [
    "tokens as texts",
    [hi, chunk({}, stop, { usage: { prompt_tokens: "3", total: "?" } })],
    counted,
  ],
  ["null for an error", [chunk({ content: "hi" }, {}, { error: null }), end()]],
  ...["", false, {}, [], 0].map((error): Variant => [
    `${JSON.stringify(error)} for an error`,
    [chunk({ content: "hi" }, {}, { error }), end()],
  ]),
  ["a number for a text", [chunk({ content: 5 }), end()], ["5", "stop"]],
  ["null for a text", [chunk({ content: null }), hi, end()]],
  ["reasoning that is no text", [chunk({ reasoning: { at: 1 }, content: "hi" }), end()]],
  ["pings and empty events", ["", {}, hi, end()]],
  ["a message in place of the delta", [chunk(undefined, { message, ...stop })]],
  ["the message again at the end", [hi, chunk(undefined, { message, ...stop })]],
  [
    "one completion as JSON",
    JSON.stringify(chunk(undefined, { message, ...stop }, { usage: counts })),
    counted,
    "application/json",
  ],
  [
    "a chunk on each line",
    `${JSON.stringify(hi)}\n${JSON.stringify(end())}\n`,
    answered,
    "application/x-ndjson",
  ],
  [
    "lines that end with CR LF",
    `data:${JSON.stringify(hi)}\r\n\r\ndata:${JSON.stringify(end())}\r\n\r\n`,
  ],
  ["an object for a call's arguments", [withInput({ a: 1 }), byCall], called],
  [
    "all digits of such an object",
    `data: ${digits}\n\ndata: [DONE]\n\n`,
    ['c w {"a":12345678901234567890}', "tool-calls"],
  ],
  [
    "no arguments (OpenRouter ai-sdk-provider#287)",
    [call({ function: { name: "w" } }), byCall],
    ["c w ", "tool-calls"],
  ],
  ["a text for a call's index", [call({ index: "0" }), byCall], called],
  ["a number for a call's id", [call({ id: 7 }), byCall], ['7 w {"a":1}', "tool-calls"]],
  ["one call that is no list", [chunk({ tool_calls: part }), byCall], called],
  [
    "the older function_call",
    [
      chunk({ function_call: { name: "w", arguments: '{"a"' } }),
      chunk({ function_call: { arguments: ":1}" } }),
      end("function_call"),
    ],
    ['? w {"a":1}', "tool-calls"],
  ],
  ["an error as a text", [{ error: "overloaded" }], ["overloaded", "error"]],
  ["an error of OpenAI", [{ error: { message: "too long", code: "x" } }], ["too long", "error"]],
  ["an error of vLLM", [{ object: "error", message: "too long", code: 4 }], ["too long", "error"]],
  ["an error of FastAPI", [{ detail: [{ msg: "no" }] }], ['[{"msg":"no"}]', "error"]],
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
const used = stopped("tool_use");
const usedAs = (name = "c w") => [`${name} {"a":1}`, "tool-calls", "3 tokens"];

const ended = stopped("end_turn");
const unnamed = { ...started, message: { ...started.message, id: 7 } };
const bare = { ...started, message: { role: "assistant" } };
const failed = { type: "error", error: "overloaded" };

const messages: readonly Variant[] = [
  ["Anthropic's form", [started, ...hiBlock, ...ended], said],
  [
    "no usage at the end (earendil-works/pi#6567)",
    [started, ...hiBlock, ...stopped("end_turn", {})],
    said,
  ],
  ["null for usage", [started, ...hiBlock, ...stopped("end_turn", { usage: null })], said],
  ["no usage at the start", [bare, ...hiBlock, ...ended], ["hi", "stop", "0 tokens"]],
  ["a number for an id", [unnamed, ...hiBlock, ...ended], said],
  [
    "a text with its block's start",
    [started, ...block({ type: "text", text: "hi" }), ...ended],
    said,
  ],
  ["events of other types", [started, { type: "vendor.info" }, ...hiBlock, ...ended], said],
  [
    "a block of another type",
    [
      started,
      ...block({ type: "notice" }, { type: "text_delta", text: "no" }),
      ...hiBlock,
      ...ended,
    ],
    said,
  ],
  [
    "a delta of another type",
    [started, ...block({ type: "text", text: "hi" }, { type: "mark_delta", mark: 1 }), ...ended],
    said,
  ],
  [
    "an input with its block's start",
    [started, ...callBlock({ input: { a: 1 } }), ...used],
    usedAs(),
  ],
  ["null for an input", [started, ...callBlock({ input: null }, '{"a":1}'), ...used], usedAs()],
  ["null for a call's id", [started, ...callBlock({ id: null }, '{"a":1}'), ...used], usedAs(" w")],
  [
    "a thought with its block's start, and one without a text",
    [
      started,
      ...block({ type: "thinking", thinking: "hm" }),
      ...block({ type: "thinking" }, { type: "thinking_delta", thinking: "so" }),
      ...hiBlock,
      ...ended,
    ],
    ["(hm)", "(so)", ...said],
  ],
  [
    "null and a number for texts",
    [
      started,
      ...block({ type: "text" }, ...[null, 5].map((text) => ({ type: "text_delta", text }))),
      ...ended,
    ],
    ["", "5", ...said.slice(1)],
  ],
  [
    "an object for a call's input",
    [
      started,
      ...block(
        { type: "tool_use", id: "c", name: "w" },
        { type: "input_json_delta", partial_json: { a: 1 } },
      ),
      ...used,
    ],
    usedAs(),
  ],
  ...["0", undefined].map((index): Variant => [
    `${index === undefined ? "no index" : "a text for the index"} of a block`,
    [started, ...hiBlock.map((event) => ({ ...event, index })), ...ended],
    said,
  ]),
  ["an error that says nothing", [started, { type: "error", error: {} }], ["The endpoint failed."]],
  ["an error as a text", [started, failed], ["overloaded"]],
];

describe.each([
  { name: "openai-compatible", provider: openaiCompatibleModels, variants: completions },
  { name: "anthropic", provider: anthropicModels, variants: messages },
])("an endpoint for $name that sends", ({ name, provider, variants }) => {
  let server: Loopback;
  beforeAll(async () => {
    server = await startLoopback((request, response) => {
      const [, sent = "", , type = "text/event-stream"] =
        variants[Number(request.url?.split("/")[1])] ?? [];
      response.setHeader("content-type", type);
      if (typeof sent === "string") return response.end(sent);
      const events = [...sent, "[DONE]"].map((one) =>
        typeof one === "string" ? one : JSON.stringify(one),
      );
      return response.end(events.map((data) => `data: ${data}\n\n`).join(""));
    });
  });
  afterAll(() => server.down());

  const rows = variants.map(([what, , got = answered], index) => [what, got, index] as const);

  it.each(rows)("%s", async (_what, got, index) => {
    const MODEL_BASE_URL = `${server.url}/${index}`;
    const settings = readSettings({ MODEL: `${name}:m`, MODEL_API_KEY: "key", MODEL_BASE_URL });
    const model = provider.model("m", settings, {} as Cloudflare.Env) as LanguageModelV4;
    const content = [{ type: "text" as const, text: "?" }];
    const { stream } = await model.doStream({ prompt: [{ role: "user", content }] });
    const parts: string[] = [];
    for await (const part of stream) parts.push(...describePart(part));
    expect(parts).toEqual(got);
  });
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
