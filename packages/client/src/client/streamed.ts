import type { UIMessage, UIMessageChunk } from "ai";
import type { TurnMetadata, VariableInfo } from "../../../../src/runtime.ts";
import type { Unresolved } from "../../../../src/references.ts";
import { ClientError, type ClientErrorCode } from "./client-error.ts";
import type { Connection, Request } from "./connection.ts";
import { follow, retriesFor } from "./follow.ts";

/** A turn's own data parts. */
export type TurnData = { variable: VariableInfo; unresolved: Unresolved };

/** A part of the AI SDK's UI message stream. */
export type Chunk<Data extends Record<string, unknown>> = UIMessageChunk<
  Partial<TurnMetadata>,
  Data
>;

/** A turn as returned for `Accept: application/json`. */
export interface TurnAnswer extends TurnMetadata {
  readonly message: UIMessage;
  /** The conversation's variables when the turn is done, newest last. */
  readonly variables: readonly VariableInfo[];
}

/** A live stream of parts. The request is made when it is read, as parts or as text. */
export interface Told<Data extends Record<string, unknown>> extends AsyncIterable<Chunk<Data>> {
  /** Resolves to the text at the end of the stream. Throws the error of an error part. */
  text(): Promise<string>;
}

/** A response that is requested when it is read: as parts, as text, or as one object. */
export interface Streamed<Data extends Record<string, unknown>, Whole> extends Told<Data> {
  /** Resolves to the whole response when it is done. Throws the error that it ended with. */
  json(): Promise<Whole>;
}

export interface StreamRequest extends Request {
  readonly method: "GET" | "POST";
  readonly at: string;
  /** True if repeating the request has no further effect. */
  readonly mayRepeat?: boolean | undefined;
}

export function streamed<Data extends Record<string, unknown>, Whole>(
  connection: Connection,
  request: StreamRequest,
): Streamed<Data, Whole> {
  const chunks = () => chunksOf<Data>(connection, request);
  return {
    [Symbol.asyncIterator]: chunks,
    text: () => textOf(chunks()),
    json: () => wholeOf<Whole>(connection, request),
  };
}

async function* chunksOf<Data extends Record<string, unknown>>(
  { call, options }: Connection,
  request: StreamRequest,
): AsyncGenerator<Chunk<Data>, void> {
  let hasBegun = false;
  const { method, at, mayRepeat, signal } = request;
  const open = async (after: string | undefined) => {
    if (after === undefined) return call(method, at, accepting(request, "text/event-stream"));
    const headers = { "last-event-id": after };
    const response = await call("GET", "/stream", { headers, signal });
    if (response.status === 204) throw turnGone();
    return response;
  };
  for await (const { data } of follow({ options, open, mayRepeat, signal })) {
    // The server sends what the types declare.
    const chunk = JSON.parse(data) as Chunk<Data>;
    // A turn begins once: a second start is of the next turn.
    if (chunk.type === "start" && hasBegun) throw turnGone();
    hasBegun = true;
    yield chunk;
  }
}

async function wholeOf<Whole>(
  { ask, options }: Connection,
  request: StreamRequest,
): Promise<Whole> {
  const { method, at, mayRepeat, signal } = request;
  const { waitAfter } = retriesFor(options, signal);
  for (;;) {
    try {
      return await ask<Whole>(method, at, accepting(request, "application/json"));
    } catch (error) {
      if (!mayRepeat) throw error;
      await waitAfter(error);
    }
  }
}

function accepting(request: StreamRequest, accept: string): Request {
  return { ...request, headers: { ...request.headers, accept } };
}

function turnGone(): ClientError {
  return new ClientError("turn_gone", "Another turn has begun.");
}

/** Joins texts as paragraphs. Leaves out the text of cancelled steps. */
async function textOf(chunks: AsyncIterable<Chunk<Record<string, unknown>>>): Promise<string> {
  let step = new Map<string, string>();
  let details: Partial<TurnMetadata> | undefined;
  const steps = [step];
  for await (const chunk of chunks) {
    if (chunk.type === "message-metadata") details = chunk.messageMetadata;
    if (chunk.type === "error") throw failureIn(chunk.errorText, details);
    if (chunk.type === "start-step") steps.push((step = new Map()));
    if (chunk.type === "reset-step") step.clear();
    if (chunk.type === "text-delta") step.set(chunk.id, (step.get(chunk.id) ?? "") + chunk.delta);
  }
  const texts = steps.flatMap((step) => [...step.values()]);
  return texts.filter(Boolean).join("\n\n");
}

/** Parses the `code: message` of an error part. */
function failureIn(errorText: string, details: Partial<TurnMetadata> = {}): ClientError {
  const [, code = "internal", message = errorText] = /^(\w+): (.*)/s.exec(errorText) ?? [];
  return new ClientError(code as ClientErrorCode, message, { details });
}
