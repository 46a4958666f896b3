import { isJsonArray, isJsonObject, type JsonObject } from "../../value/json.ts";
import {
  asText,
  countsIn,
  errorIn,
  type EventReader,
  fetchEvents,
  objectsIn,
  textOf,
} from "./streamed-events.ts";

/**
 * `fetch` for chat completions. What endpoints stream arrives as OpenAI would send it: calls with texts for arguments,
 * a reason at the end, errors as errors. Nothing that the model said is changed.
 */
export const fetchCompletions = fetchEvents(() => new Completion());

class Completion implements EventReader {
  #hasSaid = false;
  #hasCalled = false;
  #hasReason = false;

  readonly read = (chunk: JsonObject): readonly JsonObject[] => {
    const failure = errorIn(chunk);
    if (failure !== undefined) return [{ error: failure }];
    const { error: _error, id, model, created, choices, usage, ...others } = chunk;
    const about = {
      ...(textOf(id) === undefined ? {} : { id: String(id) }),
      ...(typeof model === "string" ? { model } : {}),
      ...(typeof created === "number" ? { created } : {}),
      ...(isJsonObject(usage ?? null) ? { usage: countsIn(usage) } : {}),
    };
    const sent = objectsIn(choices).map((choice) => this.#choice(choice));
    return [{ ...others, ...about, choices: sent }];
  };

  /** Some endpoints give no other sign that an answer is complete. */
  readonly end = (): readonly JsonObject[] => {
    if (!this.#hasSaid || this.#hasReason) return [];
    const reason = this.#hasCalled ? "tool_calls" : "stop";
    return [{ choices: [{ index: 0, delta: {}, finish_reason: reason }] }];
  };

  #choice({ delta, message, finish_reason: reason, ...others }: JsonObject): JsonObject {
    // The last chunk may repeat the whole message.
    const [said = {}] = objectsIn(delta ?? (this.#hasSaid ? null : message));
    const sent = deltaOf(said);
    this.#hasCalled ||= Array.isArray(sent.tool_calls);
    this.#hasSaid ||= Object.values(sent).some((part) => part !== "" && part !== null);
    this.#hasReason ||= textOf(reason) !== undefined;
    return { ...others, delta: sent, finish_reason: textOf(reason) ?? null };
  }
}

function deltaOf(delta: JsonObject): JsonObject {
  const { content, reasoning, function_call: call, tool_calls: calls } = delta;
  const { reasoning_content: thought } = delta;
  const others = Object.entries(delta).filter(([key]) => !REPLACED.has(key));
  const [older] = objectsIn(call);
  const all = older === undefined ? objectsIn(calls) : [{ index: 0, function: older }];
  return {
    ...Object.fromEntries(others),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(typeof thought === "string" ? { reasoning_content: thought } : {}),
    ...(content === undefined || isJsonArray(content) ? {} : { content: asText(content) }),
    ...(all.length === 0 ? {} : { tool_calls: all.map(callOf) }),
  };
}

const REPLACED = new Set(["role", "reasoning", "reasoning_content", "function_call", "tool_calls"]);

function callOf({ id, index, function: named, ...others }: JsonObject): JsonObject {
  const [{ arguments: input = null, ...about } = {}] = objectsIn(named);
  return {
    ...others,
    id: textOf(id) ?? null,
    index: textOf(index) === undefined ? null : Number(index),
    function: { ...about, arguments: input === null ? null : asText(input) },
  };
}
