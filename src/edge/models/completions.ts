import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";
import { isJsonArray, isJsonObject, type Json, jsonIn, type JsonObject } from "../../value/json.ts";

/**
 * `fetch` for the chat completions API. Endpoints that follow it loosely end the answers of the AI SDK's provider, or
 * lose a part of them. What they stream arrives as OpenAI would send it: calls with texts for arguments, a reason at
 * the end, errors as errors. Nothing that the model said is changed, digits in arguments included.
 */
export async function fetchCompletions(
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, init);
  const { ok, body, headers } = response;
  if (!ok || body === null || !String(init?.body).includes('"stream":true')) return response;
  const isEvents = headers.get("content-type")?.includes("json") !== true;
  const events = isEvents ? body : new Blob([asEvents(await response.text())]).stream();
  const stream = events
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .pipeThrough(new TransformStream(new Completion()))
    .pipeThrough(new TextEncoderStream());
  return new Response(stream, { headers });
}

/** An endpoint that does not stream sends one completion; others send a chunk on each line. */
function asEvents(text: string): string {
  const whole = jsonIn(text);
  const chunks = whole === undefined ? text.split("\n") : [JSON.stringify(whole)];
  return [...chunks, END].map((chunk) => `data: ${chunk}\n\n`).join("");
}

/** The event that ends a stream. */
const END = "[DONE]";

/** A stream of chunks, each of which is sent on in OpenAI's form. */
class Completion implements Transformer<EventSourceMessage, string> {
  #hasSaid = false;
  #hasCalled = false;
  #hasReason = false;

  transform({ data }: EventSourceMessage, controller: TransformStreamDefaultController<string>) {
    const chunk = jsonIn(data);
    const texts =
      chunk !== undefined && isJsonObject(chunk) ? this.#sent(chunk) : this.#other(data);
    for (const text of texts) controller.enqueue(`data: ${text}\n\n`);
  }

  #other(data: string): readonly string[] {
    if (data.trim() === "") return [];
    // Some endpoints give no other sign that an answer is complete.
    const isEnd = data === END && this.#hasSaid && !this.#hasReason;
    if (!isEnd) return [data];
    const choice = { index: 0, delta: {}, finish_reason: this.#hasCalled ? "tool_calls" : "stop" };
    return [JSON.stringify({ choices: [choice] }), data];
  }

  #sent(chunk: JsonObject): readonly string[] {
    const error = errorIn(chunk);
    if (error !== undefined) return [JSON.stringify({ error })];
    const { error: _error, id, model, created, choices, usage, ...others } = chunk;
    return [
      JSON.stringify({
        ...others,
        id: textOf(id),
        model: textOf(model),
        created: typeof created === "number" ? created : undefined,
        choices: objectsIn(choices).map((choice) => this.#choice(choice)),
        usage: countsIn(usage),
      }),
    ];
  }

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
  const { reasoning, reasoning_content: content, function_call: call, tool_calls: calls } = delta;
  const others = Object.entries(delta).filter(([key]) => !REPLACED.has(key));
  const [older] = objectsIn(call);
  const all = older === undefined ? objectsIn(calls) : [{ index: 0, function: older }];
  return {
    ...Object.fromEntries(others),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    ...(typeof content === "string" ? { reasoning_content: content } : {}),
    ...(all.length === 0 ? {} : { tool_calls: all.map(callOf) }),
  };
}

const REPLACED = new Set(["role", "reasoning", "reasoning_content", "function_call", "tool_calls"]);

function callOf({ id, index, function: named, ...others }: JsonObject): JsonObject {
  const [{ arguments: input, ...about } = {}] = objectsIn(named);
  const text = typeof input === "string" ? input : JSON.stringify(input ?? null);
  return {
    ...others,
    id: textOf(id) ?? null,
    index: index === undefined || index === null ? null : Number(index),
    function: { ...about, arguments: input === undefined || input === null ? null : text },
  };
}

/** An error in one of the forms of OpenAI, vLLM, FastAPI and proxies. */
function errorIn({ error, detail, object, ...others }: JsonObject): Json | undefined {
  const given = error ?? detail ?? (object === "error" ? others : null);
  if (given === null) return undefined;
  if (isJsonObject(given) && typeof given.message === "string") return given;
  return { message: typeof given === "string" ? given : JSON.stringify(given) };
}

/** Undefined for what is no text and no number, and for an empty one. */
function textOf(value: Json | undefined): string | undefined {
  const isText = typeof value === "string" || typeof value === "number";
  return isText && value !== "" ? String(value) : undefined;
}

/** The objects of a list, or one alone. */
function objectsIn(value: Json | undefined): readonly JsonObject[] {
  if (value === undefined) return [];
  return (isJsonArray(value) ? value : [value]).filter(isJsonObject);
}

/** Tokens, also those that are written as texts. */
function countsIn(value: Json | undefined): JsonObject | null {
  const [counts] = objectsIn(value);
  if (counts === undefined) return null;
  const entries = Object.entries(counts).map(([key, count]): [string, Json] => {
    const isCount = textOf(count) !== undefined && Number.isFinite(Number(count));
    return [key, isCount ? Number(count) : countsIn(count)];
  });
  return Object.fromEntries(entries);
}
