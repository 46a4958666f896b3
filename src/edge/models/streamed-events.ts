import { type EventSourceMessage, EventSourceParserStream } from "@ai-sdk/provider-utils";
import { isJsonArray, isJsonObject, type Json, jsonIn, type JsonObject } from "../../value/json.ts";

/** What reads the events of one answer. */
export interface EventReader {
  /** Returns what to send on in place of an event, as the API's owner would send it. */
  readonly read: (event: JsonObject) => readonly JsonObject[];
  /** Returns what to send on before the end. */
  readonly end?: () => readonly JsonObject[];
}

/**
 * Returns `fetch` for an API that streams. Endpoints that follow it loosely end the answers of the AI SDK's provider,
 * or lose a part of them, so what they stream is read by `open` first. Digits are kept.
 */
export function fetchEvents(open: () => EventReader): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { ok, body, headers } = response;
    if (!ok || body === null || !String(init?.body).includes('"stream":true')) return response;
    const isStreamed = headers.get("content-type")?.includes("json") !== true;
    const events = isStreamed ? body : new Blob([asEvents(await response.text())]).stream();
    const stream = events
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .pipeThrough(new TransformStream(through(open())))
      .pipeThrough(new TextEncoderStream());
    return new Response(stream, { headers });
  };
}

/** An endpoint that does not stream sends one document; others send one on each line. */
function asEvents(text: string): string {
  const whole = jsonIn(text);
  const events = whole === undefined ? text.split("\n") : [JSON.stringify(whole)];
  return [...events, END].map((event) => `data: ${event}\n\n`).join("");
}

/** The event that ends a stream of OpenAI. */
const END = "[DONE]";

function through({ read, end }: EventReader): Transformer<EventSourceMessage, string> {
  return {
    transform({ data }, controller) {
      const event = jsonIn(data);
      const isRead = event !== undefined && isJsonObject(event);
      const more = isRead ? read(event) : data === END ? (end?.() ?? []) : [];
      // What is no JSON is refused by the provider, with its text.
      const rest = isRead || data.trim() === "" ? [] : [data];
      for (const text of [...more.map((one) => JSON.stringify(one)), ...rest])
        controller.enqueue(`data: ${text}\n\n`);
    },
  };
}

/** The text of a text or number; undefined for anything else, and for an empty text. */
export function textOf(value: Json | undefined): string | undefined {
  const isText = typeof value === "string" || typeof value === "number";
  return isText && value !== "" ? String(value) : undefined;
}

/** The objects of a list, or one alone. */
export function objectsIn(value: Json | undefined): readonly JsonObject[] {
  if (value === undefined) return [];
  return (isJsonArray(value) ? value : [value]).filter(isJsonObject);
}

/** Whether it is more than null, false, 0, an empty text or an empty object. */
function isSaid(value: Json | undefined): value is Json {
  return Boolean(value) && (typeof value !== "object" || Object.keys(value ?? {}).length > 0);
}

/** What is said in place of a text, as a text. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);
}

/** Counts of tokens, also those that are written as texts. */
export function countsIn(value: Json | undefined): JsonObject {
  const [counts = {}] = objectsIn(value);
  const entries = Object.entries(counts).flatMap(([key, count]): readonly [string, Json][] => {
    if (isJsonObject(count)) return [[key, countsIn(count)]];
    const isCount = textOf(count) !== undefined && Number.isFinite(Number(count));
    return isCount ? [[key, Number(count)]] : [];
  });
  return Object.fromEntries(entries);
}

/** An error of an API, in one of the forms of OpenAI, Anthropic, vLLM, FastAPI and proxies. Some send an empty one. */
export function errorIn({ error, detail, object, ...others }: JsonObject): JsonObject | undefined {
  const given = [error, detail, object === "error" ? others : null].find(isSaid);
  if (given === undefined) return undefined;
  if (isJsonObject(given) && typeof given.message === "string") return given;
  return { message: typeof given === "string" ? given : JSON.stringify(given) };
}
