import { parseJsonEventStream, type ParseResult } from "@ai-sdk/provider-utils";
import type { UIMessageChunk } from "ai";
import * as z from "zod";
import type { VariableStore } from "../../../../src/internal.ts";
import { type ExpandingOptions, TextParts } from "./expand-answer.ts";

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
