import { json } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import {
  asText,
  countsIn,
  errorIn,
  type EventReader,
  FAILED,
  fetchEvents,
  objectsIn,
  reasonIn,
  textOf,
} from "./streamed-events.ts";

/**
 * `fetch` for chat completions. What endpoints stream arrives as OpenAI would send it: calls with texts for arguments,
 * a reason at the end, errors as errors. Nothing that the model said is changed.
 */
export const fetchCompletions = fetchEvents(() => new Completion());

export class Completion implements EventReader {
  readonly #takeCall: ((call: CallDelta) => void) | undefined;
  hasSaid = false;
  hasReason = false;
  #hasCalled = false;

  /** `takeCall` receives what is said of calls. Default: it is sent on. */
  constructor(takeCall?: (call: CallDelta) => void) {
    this.#takeCall = takeCall;
  }

  readonly read = (chunk: json.JsonObject): readonly json.JsonObject[] => {
    const { error: _error, id, model, created, choices, usage, ...others } = chunk;
    const all = objectsIn(choices);
    const failure = [chunk, ...all].map(errorIn).find((one) => one !== undefined);
    if (failure !== undefined) return [{ error: failure }];
    if (all.some(hasFailed)) return [{ error: FAILED }];
    const about = {
      ...(textOf(id) === undefined ? {} : { id: String(id) }),
      ...(typeof model === "string" ? { model } : {}),
      ...(typeof created === "number" ? { created } : {}),
      ...(json.isJsonObject(usage ?? null) ? { usage: countsIn(usage) } : {}),
    };
    return [{ ...others, ...about, choices: all.map((choice) => this.#choice(choice)) }];
  };

  /** Some endpoints give no other sign that an answer is complete. */
  readonly end = (isSaid: boolean): readonly json.JsonObject[] => {
    if (!isSaid || !this.hasSaid || this.hasReason) return [];
    const reason = this.#hasCalled ? "tool_calls" : "stop";
    return [{ choices: [{ index: 0, delta: {}, finish_reason: reason }] }];
  };

  #choice({
    delta,
    message,
    text,
    finish_reason: reason,
    ...others
  }: json.JsonObject): json.JsonObject {
    // The last chunk may repeat the whole message.
    const whole = this.hasSaid ? null : message;
    const [said = {}] = objectsIn(delta ?? (text === undefined ? whole : { content: text }));
    const sent = deltaOf(said);
    const calls = callsIn(said);
    this.#hasCalled ||= calls.length > 0;
    const parts = [...calls, ...Object.values(sent)];
    this.hasSaid ||= parts.some((part) => part !== "" && part !== null);
    this.hasReason ||= textOf(reason) !== undefined;
    if (this.#takeCall !== undefined) for (const call of calls.splice(0)) this.#takeCall(call);
    const called = calls.length > 0 && { tool_calls: calls.map((call) => ({ ...call })) };
    return { ...others, delta: { ...sent, ...called }, finish_reason: finishReason(reason) };
  }
}

const REASONS = {
  calls: "tool_calls",
  done: "stop",
  length: "length",
  filtered: "content_filter",
  failed: "error",
} as const;

/** The reason in OpenAI's words, if it is known. */
function finishReason(reason: Json | undefined): string | null {
  const known = reasonIn(reason);
  return known === undefined ? (textOf(reason) ?? null) : REASONS[known];
}

/** Some proxies say in the words of their provider alone that it failed. */
function hasFailed({
  finish_reason: reason,
  native_finish_reason: native,
}: json.JsonObject): boolean {
  return reasonIn(reason) === "failed" || reasonIn(native) === "failed";
}

function deltaOf(delta: json.JsonObject): json.JsonObject {
  const { role: _role, function_call: _older, tool_calls: _calls, ...others } = delta;
  const { content, reasoning, reasoning_content: thought, ...more } = others;
  const textIn = (value: Json | undefined) => (typeof value === "string" ? value : undefined);
  const thoughts = { reasoning: textIn(reasoning), reasoning_content: textIn(thought) };
  const said = content === undefined ? undefined : contentOf(content);
  return { ...more, ...json.compact({ ...thoughts, content: said }) };
}

/** A text, or parts of which some are thoughts. */
function contentOf(content: Json): Json {
  if (!json.isJsonArray(content)) return asText(content);
  const parts = content.map((part): json.JsonObject => {
    if (!json.isJsonObject(part)) return { type: "text", text: asText(part) };
    const isText = part.type !== "thinking" && typeof part.text === "string";
    return { ...part, type: isText ? "text" : (textOf(part.type) ?? "") };
  });
  const isText = parts.every(({ type }) => type === "text");
  return isText ? parts.map(({ text = "" }) => asText(text)).join("") : parts;
}

type CallDelta = {
  readonly id: string | null;
  readonly index: number | null;
  readonly function: { readonly name: string | null; readonly arguments: string | null };
};

/** What a delta says of calls. Some endpoints leave out what is around the name and the arguments. */
function callsIn({ function_call: call, tool_calls: calls }: json.JsonObject): CallDelta[] {
  const [older] = objectsIn(call);
  const all = older === undefined ? objectsIn(calls) : [{ index: 0, function: older }];
  return all.map(({ id, index, function: named, ...others }) => {
    const [{ name, arguments: input = null } = others] = objectsIn(named);
    return {
      ...others,
      id: textOf(id) ?? null,
      index: textOf(index) === undefined ? null : Number(index),
      function: { name: textOf(name) ?? null, arguments: input === null ? null : asText(input) },
    };
  });
}
