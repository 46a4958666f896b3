import { type EventSourceMessage, EventSourceParserStream } from "@ai-sdk/provider-utils";
import * as limits from "../../../src/limits.ts";
import { json } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";

/** What reads the events of one answer. */
export interface EventReader {
  /** Returns what to send on in place of an event, as the API's owner would send it. */
  readonly read: (event: json.JsonObject) => readonly json.JsonObject[];
  /** Returns what to send on before the end. `isSaid`: the endpoint says that this is the end. */
  readonly end?: (isSaid: boolean) => readonly json.JsonObject[];
  /** True once the answer has its reason to end. Then its end is not awaited for long. */
  readonly hasReason?: boolean;
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
    return new Response(readEvents(body, open()), { headers });
  };
}

/** Returns the events of a stream as they are to be sent on. */
export function readEvents(
  body: ReadableStream<Uint8Array>,
  reader: EventReader,
): ReadableStream<Uint8Array> {
  return body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new TransformStream(framed()))
    .pipeThrough(new EventSourceParserStream())
    .pipeThrough(new TransformStream(through(reader)))
    .pipeThrough(new TextEncoderStream());
}

/** Events begin with the name of a field, or a comment. */
const FIELD = /^(?:data|event|id|retry)?:/u;
const MIN_CHARS = "event:".length;

/**
 * Makes one event of a body that has none, because an endpoint has not streamed: a document, or one on each line. Whatever
 * its type says: some endpoints send the wrong one. The last event may lack its blank line.
 */
function framed(): Transformer<string, string> {
  let head: string | undefined = "";
  let isEvents = true;
  const lined = (text: string) => (isEvents ? text : text.replaceAll(/[\r\n]/gu, "\ndata: "));
  const opened = (text: string) => {
    isEvents = FIELD.test(text);
    return `${isEvents ? "" : "data: "}${lined(text)}`;
  };
  return {
    transform(text, controller) {
      if (head === undefined) return controller.enqueue(lined(text));
      head = (head + text).trimStart();
      if (head.length < MIN_CHARS) return undefined;
      controller.enqueue(opened(head));
      head = undefined;
      return undefined;
    },
    flush(controller) {
      if (head !== undefined && head !== "") controller.enqueue(opened(head));
      controller.enqueue(isEvents ? "\n\n" : `\n\ndata: ${END}\n\n`);
    },
  };
}

/** The event that ends a stream of OpenAI. */
const END = "[DONE]";
/** The last events of Anthropic, and of OpenAI's Responses. An endpoint may keep the connection open after them. */
const LAST = /^(?:message_stop|response\.(?:completed|incomplete|failed))$/u;
/** How long an answer that has its reason waits for counts of tokens and for its end. Pings do not count. */
const LAST_WAIT_MS = limits.modelSilenceMs / 4;

function through(reader: EventReader): Transformer<EventSourceMessage, string> {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const send = (
    controller: TransformStreamDefaultController<string>,
    events: readonly json.JsonObject[],
  ) => {
    for (const event of events) controller.enqueue(`data: ${JSON.stringify(event)}\n\n`);
  };
  const end = (controller: TransformStreamDefaultController<string>) => {
    clearTimeout(waiting);
    send(controller, reader.end?.(true) ?? []);
    controller.terminate();
  };
  const endLate = (controller: TransformStreamDefaultController<string>) => {
    try {
      end(controller);
    } catch {
      // The answer was cancelled meanwhile.
    }
  };
  return {
    transform({ data, event: name }, controller) {
      for (const value of valuesIn(data)) {
        if (value === END) return end(controller);
        const event = eventOf(value, name);
        const events = event === undefined ? [] : reader.read(event);
        send(controller, events);
        if (events.every(({ type }) => type === "ping")) continue;
        clearTimeout(waiting);
        if (events.some((one) => errorIn(one) !== undefined)) return controller.terminate();
        if (events.some(({ type }) => LAST.test(textOf(type) ?? ""))) return end(controller);
        if (reader.hasReason === true) waiting = setTimeout(endLate, LAST_WAIT_MS, controller);
      }
      return undefined;
    },
    flush(controller) {
      clearTimeout(waiting);
      send(controller, reader.end?.(false) ?? []);
    },
  };
}

/** The values in the data of an event: one, a list, or one on each line. What is no JSON is a text. */
function valuesIn(data: string): readonly Json[] {
  const whole = json.jsonIn(data);
  if (whole !== undefined) return json.isJsonArray(whole) ? whole : [whole];
  const lines = data.split("\n").map((line) => line.trim());
  return lines.flatMap((line) => (line === "" ? [] : (json.jsonIn(line) ?? line)));
}

/** The event that a value stands for. A text is an error in the endpoint's words. Nothing for null, and for other pings. */
function eventOf(value: Json, name: string | undefined): json.JsonObject | undefined {
  if (typeof value === "string") return { error: value };
  if (!json.isJsonObject(value)) return undefined;
  if (name === "error" && errorIn(value) === undefined) return { error: value };
  return name === undefined ? value : { type: name, ...value };
}

/** The text of a text or number; undefined for anything else, and for an empty text. */
export function textOf(value: Json | undefined): string | undefined {
  const isText = typeof value === "string" || typeof value === "number";
  return isText && value !== "" ? String(value) : undefined;
}

/** The objects of a list, or one alone. */
export function objectsIn(value: Json | undefined): readonly json.JsonObject[] {
  if (value === undefined) return [];
  return (json.isJsonArray(value) ? value : [value]).filter(json.isJsonObject);
}

/** Whether it is more than null, false, 0, an empty text or an empty object. */
function isSaid(value: Json | undefined): value is Json {
  return Boolean(value) && (typeof value !== "object" || Object.keys(value ?? {}).length > 0);
}

/** What is said in place of a text, as a text. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);
}

/** Counts of tokens, also those that are written as texts. Some endpoints write -1 for one that they do not know. */
export function countsIn(value: Json | undefined): json.JsonObject {
  const [counts = {}] = objectsIn(value);
  const entries = Object.entries(counts).flatMap(([key, count]): readonly [string, Json][] => {
    if (json.isJsonObject(count)) return [[key, countsIn(count)]];
    const isCount = textOf(count) !== undefined && Number(count) >= 0 && Number(count) < Infinity;
    return isCount ? [[key, Number(count)]] : [];
  });
  return Object.fromEntries(entries);
}

/** An error of an API, in one of the forms of OpenAI, Anthropic, vLLM, FastAPI and proxies. Some send an empty one. */
export function errorIn(event: json.JsonObject): json.JsonObject | undefined {
  const { error, errors, detail, object, ...others } = event;
  const [first] = objectsIn(errors);
  const given = [error, first, detail, object === "error" ? others : null].find(isSaid);
  if (given === undefined) return undefined;
  if (json.isJsonObject(given) && typeof given.message === "string") return given;
  return { message: typeof given === "string" ? given : JSON.stringify(given) };
}

/** How an answer has ended, in words of several APIs. */
const REASONS = [
  ["calls", /^(?:tool|function)/iu],
  ["done", /^(?:stop|end|eo[st]|complete|finish|normal)/iu],
  ["length", /length|^max|token|window/iu],
  ["filtered", /filter|safety|sensitive|refus|moderat|blocked/iu],
  ["failed", /^(?:error|fail|abort|cancel|interrupt|insufficient)|_error$/iu],
] as const;

/** What the word of an endpoint for the end of an answer says. Undefined for a word that is not known. */
export function reasonIn(word: Json | undefined): (typeof REASONS)[number][0] | undefined {
  return REASONS.find(([, form]) => form.test(textOf(word) ?? ""))?.[0];
}

/** An error of an endpoint that says nothing else. */
export const FAILED = { type: "server_error", message: "The endpoint failed." };
