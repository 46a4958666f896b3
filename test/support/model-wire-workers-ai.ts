import { DONE, type Exchange } from "./model-wire.ts";

/** Workers AI in both formats that its models stream: the native one and chat completions. */

type Delta = Readonly<Record<string, unknown>>;

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function native(...deltas: readonly string[]) {
  return [...deltas.map((response) => ({ response, p: "abdef" })), { response: "", usage }, DONE];
}

function say(delta: Delta, reason: string | null = null) {
  return { id: "1", choices: [{ index: 0, delta, finish_reason: reason }] };
}

function answer(reason: string, ...deltas: readonly Delta[]) {
  const end = [say({}, reason), { choices: [], usage }, DONE];
  return [...deltas.map((delta) => say(delta)), ...end];
}

const weather: readonly Delta[] = [
  {
    tool_calls: [
      { index: 0, id: "chatcmpl-tool-1", type: "function", function: { name: "get_weather" } },
    ],
  },
  { tool_calls: [{ index: 0, function: { arguments: '{"city"' } }] },
  { tool_calls: [{ index: 0, function: { arguments: ': "NYC"}' } }] },
];

export const workersAiExchanges: readonly Exchange[] = [
  ["a text", [native("Hello", ", wor", "ld.")]],
  ["an empty answer", [native()]],
  ["a text of chat completions", [answer("stop", { content: "Hello" }, { content: "." })]],
  ["an answer that became too long", [answer("length", { content: "Once upon" })]],
  ["reasoning", [answer("stop", { reasoning_content: "I think." }, { content: "So." })]],
  ["a tool call", [answer("tool_calls", ...weather), native("Done.")]],
  ["a tool call in its own form", [[nativeCall(), { response: "", usage }, DONE], native("Done.")]],
  [
    "reasoning and a tool call",
    [answer("tool_calls", { reasoning_content: "Hm." }, ...weather), native("Done.")],
  ],
];

function nativeCall() {
  return { tool_calls: [{ name: "titled", arguments: { n: 1 } }], finish_reason: "tool_calls" };
}

/** Incomplete answers that are retried. */
export const workersAiMishaps: readonly Exchange[] = [
  ["a text whose stream just ends", [[{ response: "Hel" }], native("Done.")]],
  ["a text of chat completions whose stream ends", [[say({ content: "Hel" })], native("Done.")]],
  ["a text that is cut off", [{ cut: [{ response: "Hel" }] }, native("Done.")]],
];
