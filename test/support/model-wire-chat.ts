import { DONE, type Exchange } from "./model-wire.ts";

/** Streams of OpenAI's chat completions and of compatible endpoints. */

type Delta = Readonly<Record<string, unknown>>;

const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "test" };
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function say(delta: Delta, reason: string | null = null) {
  return { ...head, choices: [{ index: 0, delta, finish_reason: reason }] };
}

function answer(reason: string, ...deltas: readonly Delta[]) {
  const role = say({ role: "assistant", content: "" });
  const end = [say({}, reason), { ...head, choices: [], usage }, DONE];
  return [role, ...deltas.map((delta) => say(delta)), ...end];
}

function text(...deltas: readonly string[]): readonly Delta[] {
  return deltas.map((content) => ({ content }));
}

function call(index: number, id: string, written: readonly [name: string, ...args: string[]]) {
  const [name, ...args] = written;
  const first = { index, id, type: "function", function: { name, arguments: "" } };
  const rest = args.map((fragment) => ({ index, function: { arguments: fragment } }));
  return [first, ...rest].map((part) => ({ tool_calls: [part] }));
}

const weather = call(0, "call_1", ["get_weather", '{"ci', 'ty":"NYC', '"}']);
const done = answer("stop", ...text("Do", "ne."));

export const chatExchanges: readonly Exchange[] = [
  ["a text", [answer("stop", ...text("Hello", ", wor", "ld. ", "🙂"))]],
  ["an empty answer", [answer("stop")]],
  ["an answer that became too long", [answer("length", ...text("Once upon"))]],
  ["an answer that was filtered", [answer("content_filter", ...text("It"))]],
  [
    "reasoning",
    [answer("stop", { reasoning_content: "I th" }, { reasoning_content: "ink." }, ...text("So."))],
  ],
  ["reasoning under its other name", [answer("stop", { reasoning: "Hm." }, ...text("So."))]],
  ["a tool call", [answer("tool_calls", ...weather), done]],
  [
    "reasoning and a tool call",
    [answer("tool_calls", { reasoning_content: "Hm." }, ...text("Wait."), ...weather), done],
  ],
  [
    "two calls and a third",
    [
      answer("tool_calls", ...weather, ...call(1, "call_2", ["titled", '{"n":', "1}"])),
      answer("tool_calls", ...call(0, "call_3", ["titled", '{"n":2}'])),
      done,
    ],
  ],
  ["a call in one piece", [answer("tool_calls", toolCall("call_1", "titled", '{"n":1}')), done]],
  ["a call with a signature", [answer("tool_calls", signedCall()), done]],
  ["a call of an unknown tool", [answer("tool_calls", ...call(0, "call_1", ["nope", "{}"])), done]],
  [
    "a call whose input is broken",
    [answer("tool_calls", toolCall("call_1", "titled", '{"n":')), done],
  ],
  ["an answer without its usage", [[say({ content: "Hi." }), say({}, "stop"), DONE]]],
];

function toolCall(id: string, name: string, input: string): Delta {
  const about = { index: 0, id, type: "function" };
  return { tool_calls: [{ ...about, function: { name, arguments: input } }] };
}

/** A call as Google's compatible endpoint sends it. */
function signedCall(): Delta {
  const about = { index: 0, id: "call_1", type: "function" };
  const extra_content = { google: { thought_signature: "CiQBcsjafA" } };
  return {
    tool_calls: [{ ...about, function: { name: "titled", arguments: '{"n":1}' }, extra_content }],
  };
}

const refusal = { message: "Too many tokens.", type: "invalid_request_error", code: null };

/** Incomplete answers that are not retried. */
export const chatFailures: readonly Exchange[] = [
  ["an error in a text", [[say({ content: "Hel" }), { error: refusal }]]],
  ["an error at once", [[{ error: refusal }]]],
];

/** Incomplete answers that are retried. */
export const chatMishaps: readonly Exchange[] = [
  ["a text that is cut off", [{ cut: [say({ content: "Hel" })] }, done]],
  ["a text whose stream just ends", [[say({ content: "Hel" })], done]],
  ["a server error in a text", [[say({ content: "Hel" }), { error: serverError() }], done]],
  ["a tool call that is cut off", [{ cut: weather.slice(0, 2).map((delta) => say(delta)) }, done]],
];

function serverError() {
  return { message: "The server had an error.", type: "server_error", code: null };
}
