import type { OutputInterface as Output, TextStreamPart, ToolSet, UIMessageChunk } from "ai";
import type { VariableStore } from "../../../../src/internal.ts";
import { type ExpandingOptions, TextParts, expandStream, expandText } from "./expand-answer.ts";
import { type ParseResult, parseJsonEventStream } from "@ai-sdk/provider-utils";
import * as z from "zod";

/** How the results of a call are shown to callers. */
export interface Showing {
  readonly store: VariableStore;
  readonly expanding: ExpandingOptions;
  /** The output of the call's settings, which has been expanded. */
  output?: Pick<Output, "responseFormat"> | undefined;
}

/** The text of a structured answer is for programs, and values in it could break it: it stays as written. */
async function shownText(text: string, { store, expanding, output }: Showing): Promise<string> {
  const format = await output?.responseFormat;
  return format?.type === "json" ? text : expandText(text, store, expanding);
}

/**
 * Returns the result with `text` and `output` expanded. All other fields stay as the SDK recorded them, by
 * reference: `steps`, `content` and `responseMessages`, for the history.
 */
export async function expandedResult<
  Result extends { readonly text: string; readonly output: unknown },
>(result: Result, showing: Showing): Promise<Result> {
  const text = await shownText(result.text, showing);
  // Other properties are inherited from the result. The getter of `output` throws if there is none.
  return Object.create(result, {
    text: { value: text },
    output: { get: () => (showing.output === undefined ? result.output && text : result.output) },
  }) as Result;
}

/** The fields of `StreamTextResult` that change, or that have to be read from the original result. */
interface Streamed<Tools extends ToolSet> {
  readonly stream: ReadableStream<TextStreamPart<Tools>>;
  readonly text: PromiseLike<string>;
  readonly output: PromiseLike<unknown>;
  readonly partialOutputStream: unknown;
  readonly elementStream: unknown;
}

/**
 * Returns the result with its streams, `text` and `output` expanded, and with the responses that are made of
 * them.
 */
export async function expandedStreamResult<Tools extends ToolSet, Result extends Streamed<Tools>>(
  result: Result,
  showing: Showing,
): Promise<Result> {
  const { store, expanding, output } = showing;
  const format = await output?.responseFormat;
  const stream = () =>
    format?.type === "json"
      ? result.stream
      : result.stream.pipeThrough<TextStreamPart<Tools>>(expandStream<Tools>(store, expanding));
  const text = () => result.text.then((written) => shownText(written, showing));
  // The SDK's methods build responses from `this.stream`, which is the expanded stream here. Getters that
  // split the SDK's stream must run on the original result. All other properties are inherited.
  return Object.create(result, {
    stream: { get: stream },
    fullStream: { get: stream },
    text: { get: text },
    output: { get: () => (output === undefined ? text() : result.output) },
    partialOutputStream: { get: () => result.partialOutputStream },
    experimental_partialOutputStream: { get: () => result.partialOutputStream },
    elementStream: { get: () => result.elementStream },
  }) as Result;
}

/** The callbacks of an agent and of its calls that receive the text of an answer. */
const CALLBACKS = ["onStepEnd", "onStepFinish", "onEnd", "onFinish"] as const;

type Callback = (event: never) => unknown;

/**
 * Returns an agent's settings, or the options of a call, whose callbacks receive expanded texts. The rest of
 * their events is for histories, and stays as the SDK recorded it.
 */
export function withShownEvents<Options extends object>(
  options: Options,
  showing: Showing,
): Options {
  const given: { readonly [Name in (typeof CALLBACKS)[number]]?: Callback } = options;
  const shown = CALLBACKS.flatMap((name) => {
    const callback = given[name];
    if (typeof callback !== "function") return [];
    const onEvent = async (event: { readonly text: string }) => {
      const text = await shownText(event.text, showing);
      // Steps have getters, which they inherit.
      await callback(Object.create(event, { text: { value: text, enumerable: true } }) as never);
    };
    return [[name, onEvent]];
  });
  return { ...options, ...(Object.fromEntries(shown) as object) };
}

/**
 * Expands the references in an answer that `toUIMessageStreamResponse` made, while it is sent. Status and
 * headers stay. Each changed text ends with the original in its metadata, from which `asWritten` restores it,
 * so that a history of such messages costs a prompt no more than references. Fails if the body is not such a
 * stream.
 */
export function expandResponse(
  response: Response,
  store: VariableStore,
  options: ExpandingOptions = {},
): Response {
  const { body, status, statusText } = response;
  if (body === null) return response;
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const expanded = body.pipeThrough(expandingEvents(store, options));
  return new Response(expanded, { status, statusText, headers });
}

/** A part of the stream. Its readers check the fields. */
const anyPart = z.looseObject({ type: z.string() });

function expandingEvents(
  store: VariableStore,
  options: ExpandingOptions,
): ReadableWritablePair<Uint8Array, Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const encoder = new TextEncoder();
  const eventOf = (data: string) => encoder.encode(`data: ${data}\n\n`);
  let parts: TextParts<UIMessageChunk> | undefined;
  const events = new TransformStream<ParseResult<z.infer<typeof anyPart>>, Uint8Array>({
    start(controller) {
      parts = new TextParts<UIMessageChunk>(store, options, {
        emit: (part) => controller.enqueue(eventOf(JSON.stringify(part))),
        delta: (id, delta) => ({ type: "text-delta", id, delta }),
        deltaOf: (part) => (part.type === "text-delta" ? part.delta : undefined),
      });
    },
    async transform(event) {
      if (!event.success) throw event.error;
      // Only the fields that are read were checked: the type, and the id and delta of a text.
      await parts?.write(event.value as unknown as UIMessageChunk);
    },
    async flush(controller) {
      await parts?.flush();
      controller.enqueue(eventOf("[DONE]"));
    },
  });
  return {
    writable,
    readable: parseJsonEventStream({ stream: readable, schema: anyPart }).pipeThrough(events),
  };
}
