import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { anthropicModels } from "../src/anthropic.ts";
import { openaiCompatibleModels } from "../src/openai-compatible.ts";
import { openaiModels } from "../src/openai.ts";
import { workersAiModels } from "../src/workers-ai.ts";
import * as limits from "../../../src/limits.ts";
import { readSettings } from "../../../src/edge/settings.ts";
import { readEvents } from "../src/streamed-events.ts";
import type { JsonObject } from "../../../src/value/json.ts";
import { type Loopback, startLoopback } from "../../../test/support/loopback.ts";

/**
 * What endpoints stream that call themselves compatible: chunks, or a whole body. Then what a turn receives of it, and the
 * type of the body, or that the connection stays open after it.
 */
type Variant = readonly [
  what: string,
  sent: readonly (object | string)[] | string,
  got?: readonly string[],
  how?: string,
];

const OPEN = "open";

const bodyOf = (sent: readonly (object | string)[]): string => {
  const events = sent.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return events.map((data) => `data: ${data}\n\n`).join("");
};

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

const picture = (data: string) => {
  return { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } };
};
const FAILED = "The endpoint failed.";
const NO_END = "Response stream ended without a finish reason.";
const JSON_TYPE = "application/json";
/** Chunks with a text or another delta, then an end. */
const hiWith = (more: object, top: object = {}) => [chunk({ content: "hi" }, more, top), end()];
const withDelta = (delta: object) => [chunk(delta), end()];
const json = JSON.stringify;
const whole = chunk(undefined, { message, ...stop }, { usage: counts });

const completions: readonly Variant[] = [
  ["OpenAI's form", [hi, end()]],
  ["no reason before the end (vllm-mlx#628, vllm#27572)", [hi, end(null)]],
  ["an empty reason (ollama#4357)", [chunk({ content: "hi" }, { finish_reason: "" })]],
  ["a call without a reason", [call({})], called],
  ["nothing before the end", [chunk({ role: "assistant", content: "" })], [NO_END, "error"]],
  [
    "a reason after each chunk (jcode#1326)",
    [hi, end(), chunk({ content: "!" }), end()],
    ["hi", "!", "stop"],
  ],
  ["an empty role (MiniMax-M2.5#2)", withDelta({ role: "", content: "hi" })],
  ["another role", withDelta({ role: "model", content: "hi" })],
  ["a number for an id", hiWith({}, { id: 7 })],
  ["a date as a text", hiWith({}, { created: "2026-11-30" })],
  ["usage without choices (lobehub#9220)", [hi, end(), { id: "x", usage: counts }], counted],
  ["null for choices", [hi, end(), { choices: null, usage: counts }], counted],
  ...[
    { prompt_tokens: "3", total: "?" },
    { prompt_tokens: 3, completion_tokens: -1 },
  ].map((usage): Variant => [
    `the tokens ${json(usage)}`,
    [hi, chunk({}, stop, { usage })],
    counted,
  ]),
  ...[null, "", false, {}, [], 0].map((error): Variant => [
    `${json(error)} for an error`,
    hiWith({}, { error }),
  ]),
  ["a number for a text", withDelta({ content: 5 }), ["5", "stop"]],
  ["null for a text", [chunk({ content: null }), hi, end()]],
  ["reasoning that is no text", withDelta({ reasoning: { at: 1 }, content: "hi" })],
  ["pings and empty events", ["", {}, hi, end()]],
  ["a message in place of the delta", [chunk(undefined, { message, ...stop })]],
  ["the message again at the end", [hi, chunk(undefined, { message, ...stop })]],
  ["one completion as JSON", json(whole), counted, JSON_TYPE],
  ["a chunk on each line", `${json(hi)}\n${json(end())}\n`, answered, "application/x-ndjson"],
  ["lines that end with CR LF", bodyOf([hi, end()]).replaceAll("\n", "\r\n")],
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
  [
    "an error by the name of its event (zendev-sh/goai#110)",
    `event: error\ndata: {"message":"Compute error."}\n\n`,
    ["Compute error.", "error"],
  ],
  ["an error in its choice", [chunk({}, { error: { message: "away" } })], ["away", "error"]],
  ["an error as its reason (FastFlowLM#728)", [hi, end("error")], ["hi", FAILED, "error"]],
  [
    "an error in its provider's words alone (earendil-works/pi#8511)",
    [chunk({ content: "" }, { ...stop, native_finish_reason: "network_error" })],
    [FAILED, "error"],
  ],
  ["a page", "<!DOCTYPE html>", ["<!DOCTYPE html>", "error"], "text/html"],
  ...(
    [
      ["eos", "stop"],
      ["END_TURN", "stop"],
      ["tool_use", "tool-calls"],
      ["MAX_TOKENS", "length"],
      ["model_length", "length"],
      ["SAFETY", "content-filter"],
      ["unheard", "other"],
    ] as const
  ).map(([word, got]): Variant => [`the reason ${word}`, [hi, end(word)], ["hi", got]]),
  ["events, as JSON (openclaw#96497)", bodyOf([hi, end(), "[DONE]"]), answered, JSON_TYPE],
  ["one completion, as events (mistral-vibe#619)", json(whole, undefined, 2), counted],
  ["no line after its last event (openai-node#2725)", bodyOf([hi, end()]).trimEnd()],
  ["no lines between its events", bodyOf([hi, end(), "[DONE]"]).replaceAll("\n\n", "\n")],
  ["its end in quotes, with a space", [hi, end(), '"[DONE]" ']],
  ["null and an empty list as pings", ["null", "[]", hi, end()]],
  ["no end of its connection (pi#7954)", bodyOf([hi, end(), "[DONE]"]), answered, OPEN],
  ["a reason and no end at all", bodyOf([hi, end()]), answered, OPEN],
  [
    "a text in its choice",
    [chunk(undefined, { text: "hi" }), chunk(undefined, { text: "!", ...stop })],
    ["hi", "!", "stop"],
  ],
  ["a text in other parts", withDelta({ content: ["h", { type: "output_text", text: "i" }] })],
  [
    "a call without a function",
    [chunk({ tool_calls: { id: "c", ...part.function } }), byCall],
    called,
  ],
  [
    "images (one-api#44, litellm#10094)",
    [
      chunk({ content: "hi", images: [picture("AA==")] }),
      chunk({ content: [picture("BB==")] }),
      end(),
    ],
    ["image/png AA==", "hi", "image/png BB==", "stop"],
  ],
  [
    "a blank name first",
    [
      call({ function: { name: "", arguments: '{"a"' } }),
      call({ id: null, function: { name: "w", arguments: ":1}" } }),
      byCall,
    ],
    called,
  ],
  [
    "calls of one index (ollama#15457, gcli2api#406)",
    [call({}), call({ id: "d" }), byCall],
    ['c w {"a":1}', 'd w {"a":1}', "tool-calls"],
  ],
];

const used3 = { input_tokens: 3, output_tokens: 0 };
const startedWith = (more: object) => {
  const message = { id: "m", role: "assistant", model: "m", content: [], usage: used3, ...more };
  return { type: "message_start", message };
};
const started = startedWith({});
const block = (content_block: object, ...deltas: readonly object[]) => [
  { type: "content_block_start", index: 0, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
  { type: "content_block_stop", index: 0 },
];
const hiBlock = block({ type: "text", text: "" }, { type: "text_delta", text: "hi" });
const PING = { type: "ping" };
const callBlock = (more: object, ...texts: readonly unknown[]) =>
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
const bare = { type: "message_start", message: { role: "assistant" } };

const wholeMessage = {
  type: "message",
  id: "m",
  content: [{ type: "tool_use", id: "c", name: "w", input: { a: 1 } }],
  stop_reason: "tool_use",
  usage: { input_tokens: 3, output_tokens: 4 },
};
const isStop = (type: string) => type === "content_block_stop";
/** Two calls from this index on, each of which ends so often. */
const twoCalls = (index: number, ends = 1) =>
  ["c", "d"].flatMap((id, at) =>
    callBlock({ id }, '{"a":1}')
      .flatMap((event) => (isStop(event.type) ? Array.from({ length: ends }, () => event) : event))
      .map((event) => ({ ...event, index: index === 0 ? 0 : index + at })),
  );
const both = ['c w {"a":1}', 'd w {"a":1}', "tool-calls", "3 tokens"];

const aCall = callBlock({}, '{"a":1}');
const textBlock = (...texts: readonly unknown[]) =>
  block({ type: "text" }, ...texts.map((text) => ({ type: "text_delta", text })));
const inEvents = [started, ...hiBlock, ...ended];

/** Events between the start of a message and its end. */
const texts: readonly (readonly [
  what: string,
  events: readonly object[],
  got?: readonly string[],
])[] = [
  ["Anthropic's form", hiBlock],
  ["a text with its block's start", block({ type: "text", text: "hi" })],
  ["events of other types", [{ type: "vendor.info" }, ...hiBlock]],
  [
    "a block of another type",
    [...block({ type: "notice" }, { type: "text_delta", text: "no" }), ...hiBlock],
  ],
  ["a delta of another type", block({ type: "text", text: "hi" }, { type: "mark_delta", mark: 1 })],
  [
    "a thought with its block's start, and one without a text",
    [
      ...block({ type: "thinking", thinking: "hm" }),
      ...block({ type: "thinking" }, { type: "thinking_delta", thinking: "so" }),
      ...hiBlock,
    ],
    ["(hm)", "(so)", ...said],
  ],
  ["null and a number for texts", textBlock(null, 5), ["", "5", ...said.slice(1)]],
  ["a text for the index of a block", hiBlock.map((event) => ({ ...event, index: "0" }))],
  ["no index of a block", hiBlock.map((event) => ({ ...event, index: undefined }))],
  ["no start of a block", hiBlock.slice(1)],
];

/** The same of calls. */
const calls: typeof texts = [
  ["an input with its block's start", callBlock({ input: { a: 1 } })],
  ["null for an input", callBlock({ input: null }, '{"a":1}')],
  ["null for a call's id", callBlock({ id: null }, '{"a":1}'), usedAs(" w")],
  ["an object for a call's input", callBlock({ input: undefined }, { a: 1 })],
  [
    "no ends of blocks (anthropic-sdk-kotlin#147)",
    [...hiBlock.slice(0, -1), ...twoCalls(1).filter(({ type }) => !isStop(type))],
    ["hi", ...both],
  ],
  ["one index for all blocks", twoCalls(0), both],
  ["blocks that end twice (litellm#37273)", twoCalls(0, 2), both],
  ["an end of another block", aCall.map((one) => (isStop(one.type) ? { ...one, index: 9 } : one))],
];

const reasons = [
  ["stop", "stop"],
  ["tool_calls", "tool-calls"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["refusal", "content-filter"],
  ["model_context_window_exceeded", "length"],
] as const;

const messages: readonly Variant[] = [
  ...texts.map(([what, events, got = said]): Variant => [
    what,
    [started, ...events, ...ended],
    got,
  ]),
  ...calls.map(([what, events, got = usedAs()]): Variant => [
    what,
    [started, ...events, ...used],
    got,
  ]),
  ...reasons.map(([word, got]): Variant => [
    `the reason ${word}`,
    [started, ...hiBlock, ...stopped(word)],
    ["hi", got, "3 tokens"],
  ]),
  ["no usage at the end (pi#6567)", [started, ...hiBlock, ...stopped("end_turn", {})], said],
  ["null for usage", [started, ...hiBlock, ...stopped("end_turn", { usage: null })], said],
  ["no usage at the start", [bare, ...hiBlock, ...ended], ["hi", "stop", "0 tokens"]],
  ["a number for an id", [startedWith({ id: 7 }), ...hiBlock, ...ended], said],
  ["an error that says nothing", [started, { type: "error", error: {} }], [FAILED]],
  ["an error as a text", [started, { type: "error", error: "overloaded" }], ["overloaded"]],
  ["an answer that is not streamed", json(wholeMessage), usedAs(), JSON_TYPE],
  [
    "types as names of events",
    inEvents.map(({ type, ...one }) => `event: ${type}\ndata: ${json(one)}\n\n`).join(""),
    said,
  ],
  ["no end (better-ccflare#307, cc-switch#6462)", inEvents.slice(0, -1), said],
  ["no end, and none of its connection", bodyOf([...inEvents.slice(0, -1), PING]), said, OPEN],
  ["no end of its connection (earendil-works/pi#5592)", bodyOf(inEvents), said, OPEN],
  ["no line after its last event", bodyOf(inEvents).trimEnd(), said],
  ["no reason", [started, ...hiBlock, ...stopped("")], said],
  ["a reason that is taken back", [...inEvents.slice(0, -1), ...stopped("")], said],
  ["a call without a reason", [started, ...aCall, { type: "message_stop" }], usedAs()],
];

const ofCloudflare = { name: "w", arguments: { a: 1 } };
const twice = ['? w {"a":1}', '? v {"a":1}', "tool-calls", "0 tokens"];
const asV = { name: "v", arguments: '{"a":1}' };

const runs: readonly Variant[] = [
  ["OpenAI's form", [hi, end()], [...answered, "0 tokens"]],
  ["both forms", [{ ...hi, response: "hi" }, end()], [...answered, "0 tokens"]],
  ["its older form", [{ response: "hi" }, { response: "", usage: counts }], counted],
  [
    "calls in its older form",
    [{ tool_calls: [ofCloudflare, { ...ofCloudflare, name: "v" }] }],
    twice,
  ],
  [
    "all digits of such calls",
    'data: {"tool_calls":[{"name":"w","arguments":{"a":12345678901234567890}}]}\n\ndata: [DONE]\n\n',
    ['? w {"a":12345678901234567890}', "tool-calls", "0 tokens"],
  ],
  ...[0, null].map((index): Variant => [
    `two calls with the index ${index}`,
    [call({ index }), call({ index, id: "d", function: asV }), byCall],
    twice,
  ]),
  [
    "calls by turns",
    [
      call({ function: { name: "w", arguments: '{"a"' } }),
      call({ index: 1, id: "d", function: asV }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
      byCall,
    ],
    twice,
  ],
  [
    "a text in parts",
    [chunk({ content: [{ type: "text", text: "hi" }] }), end()],
    [...answered, "0 tokens"],
  ],
  ["an error", [hi, { error: { message: "away" } }], ["hi", "away"]],
  ["errors of its API", [{ success: false, errors: [{ code: 3040, message: "away" }] }], ["away"]],
  ["nothing", ["[DONE]"], ["The model's answer broke off before its end."]],
  ["no end of its connection", bodyOf([hi, end(), "[DONE]"]), [...answered, "0 tokens"], OPEN],
];

const response = { id: "r", created_at: 1, model: "m" };
const usage = { input_tokens: 3, output_tokens: 4 };
const item = { type: "message", id: "msg", role: "assistant", content: [] };
const responses = [
  { type: "response.created", response },
  { type: "response.output_item.added", output_index: 0, item },
  {
    type: "response.output_text.delta",
    item_id: "msg",
    output_index: 0,
    content_index: 0,
    delta: "hi",
  },
  { type: "response.completed", response: { ...response, usage, incomplete_details: null } },
];

const ofResponses: readonly Variant[] = [
  ["OpenAI's form", responses, said],
  ["no line after its last event (earendil-works/pi#9047)", bodyOf(responses).trimEnd(), said],
  ["no end of its connection", bodyOf(responses), said, OPEN],
  [
    "an error of another form",
    [...responses.slice(0, 3), { error: "away" }],
    ["hi", "away", "error"],
  ],
];

describe.each([
  { name: "openai-compatible", provider: openaiCompatibleModels, variants: completions },
  { name: "anthropic", provider: anthropicModels, variants: messages },
  { name: "openai", provider: openaiModels, variants: ofResponses },
  { name: "workers-ai", provider: workersAiModels, variants: runs },
])("an endpoint for $name that sends", ({ name, provider, variants }) => {
  let server: Loopback;
  beforeAll(async () => {
    server = await startLoopback((request, response) => {
      const [, sent = "", , how = ""] = variants[Number(request.url?.split("/")[1])] ?? [];
      response.setHeader("content-type", how.includes("/") ? how : "text/event-stream");
      const body = typeof sent === "string" ? sent : bodyOf([...sent, "[DONE]"]);
      return how === OPEN ? response.write(body) : response.end(body);
    });
  });
  afterAll(() => server.down());

  const rows = variants.map(([what, , got = answered], index) => [what, got, index] as const);

  it.each(rows)("%s", async (_what, got, index) => {
    hurry();
    const MODEL_BASE_URL = `${server.url}/${index}`;
    const settings = readSettings({ MODEL: `${name}:m`, MODEL_API_KEY: "key", MODEL_BASE_URL });
    const AI = { run: async () => (await fetch(MODEL_BASE_URL)).body };
    const env = { AI } as unknown as Cloudflare.Env;
    const model = provider.model("m", settings, env) as LanguageModelV4;
    const content = [{ type: "text" as const, text: "?" }];
    const { stream } = await model.doStream({ prompt: [{ role: "user", content }] });
    const parts: string[] = [];
    try {
      for await (const part of stream) parts.push(...describePart(part));
    } catch (error) {
      parts.push(messageOf(error));
    }
    expect(parts).toEqual(got);
  });
});

/** An answer that has its reason waits a part of what a silent one may take. */
function hurry(): void {
  const { setTimeout: arm } = globalThis;
  const soon = (...[work, ms, ...args]: Parameters<typeof arm>) =>
    arm(work, ms === limits.modelSilenceMs / 4 ? 0 : ms, ...args);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(soon as typeof arm);
}

it("an answer that is cancelled while it waits for its end ends nothing else", async () => {
  hurry();
  const read = () => [{ type: "message_delta" }];
  const end = vi.fn<() => JsonObject[]>(() => [{ type: "message_stop" }]);
  const body = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(new TextEncoder().encode("data: {}\n\n")),
  });
  const reader = readEvents(body, { read, end, hasReason: true }).getReader();
  await reader.read();
  await reader.cancel();
  await vi.waitFor(() => expect(end).toHaveBeenCalled());
});

function describePart(part: LanguageModelV4StreamPart): readonly string[] {
  switch (part.type) {
    case "text-delta":
      return [part.delta];
    case "reasoning-delta":
      return [`(${part.delta})`];
    case "file":
      return [`${part.mediaType} ${"data" in part.data ? String(part.data.data) : ""}`];
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
