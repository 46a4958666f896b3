import type { UIMessage, UIMessageChunk } from "ai";
import type { VariableInfo } from "../store/variable.ts";
import type { Unresolved } from "../reference/expand.ts";
import type { TurnMetadata } from "../turn/turn.ts";
import { ClientError, type ClientErrorCode } from "./client-error.ts";
import type { Connection, Request } from "./connection.ts";
import { follow } from "./follow.ts";
import { retriesFor } from "./retries.ts";

/** A turn's own data parts. */
export type TurnData = { variable: VariableInfo; unresolved: Unresolved };

/** A part of the AI SDK's UI message stream. */
export type Chunk<Data extends Record<string, unknown>> = UIMessageChunk<
  Partial<TurnMetadata>,
  Data
>;

/** A turn as `Accept: application/json` shows it. */
export interface TurnAnswer extends TurnMetadata {
  readonly message: UIMessage;
  /** The conversation's when the turn is done, newest last. */
  readonly variables: readonly VariableInfo[];
}

/** What is told while it happens. Nothing is asked for before it is read, in one form or the other. */
export interface Told<Data extends Record<string, unknown>> extends AsyncIterable<Chunk<Data>> {
  /** What was said, when all is; throws what a part of the stream says has gone wrong. */
  text(): Promise<string>;
}

/** An answer that is asked for when it is read: as parts, as text, or whole. */
export interface Streamed<Data extends Record<string, unknown>, Whole> extends Told<Data> {
  /** All of it, when it is done; throws what has gone wrong. */
  json(): Promise<Whole>;
}

/** What is asked, of a conversation. */
export interface Asked extends Request {
  readonly method: "GET" | "POST";
  readonly at: string;
  /** Are two of these requests no more than one? */
  readonly mayRepeat: boolean;
}

export function streamed<Data extends Record<string, unknown>, Whole>(
  connection: Connection,
  asked: Asked,
): Streamed<Data, Whole> {
  const chunks = () => chunksOf<Data>(connection, asked);
  return {
    [Symbol.asyncIterator]: chunks,
    text: () => textOf(chunks()),
    json: () => wholeOf<Whole>(connection, asked),
  };
}

async function* chunksOf<Data extends Record<string, unknown>>(
  { call, options }: Connection,
  asked: Asked,
): AsyncGenerator<Chunk<Data>, void> {
  let hasBegun = false;
  const { method, at, mayRepeat, signal } = asked;
  const open = async (after: string | undefined) => {
    if (after === undefined) return call(method, at, accepting(asked, "text/event-stream"));
    const headers = { "last-event-id": after };
    const response = await call("GET", "/stream", { headers, signal });
    if (response.status === 204) throw gone();
    return response;
  };
  for await (const { data } of follow({ options, open, mayRepeat, signal })) {
    // The server says what the types say.
    const chunk = JSON.parse(data) as Chunk<Data>;
    // No turn begins twice: it is the next one that is told now.
    if (chunk.type === "start" && hasBegun) throw gone();
    hasBegun = true;
    yield chunk;
  }
}

async function wholeOf<Whole>({ ask, options }: Connection, asked: Asked): Promise<Whole> {
  const { method, at, mayRepeat, signal } = asked;
  const { waitAfter } = retriesFor(options, signal);
  for (;;) {
    try {
      return await ask<Whole>(method, at, accepting(asked, "application/json"));
    } catch (error) {
      if (!mayRepeat) throw error;
      await waitAfter(error);
    }
  }
}

function accepting(asked: Asked, accept: string): Request {
  return { ...asked, headers: { ...asked.headers, accept } };
}

function gone(): ClientError {
  return new ClientError("turn_gone", "Another turn has begun; see the messages.");
}

/** Paragraphs; what a step has said that was called off is left out. */
async function textOf(chunks: AsyncIterable<Chunk<Record<string, unknown>>>): Promise<string> {
  let step = new Map<string, string>();
  let details: object | undefined;
  const steps = [step];
  for await (const chunk of chunks) {
    if (chunk.type === "message-metadata") details = chunk.messageMetadata;
    if (chunk.type === "error") throw failureIn(chunk.errorText, details);
    if (chunk.type === "start-step") steps.push((step = new Map()));
    if (chunk.type === "reset-step") step.clear();
    if (chunk.type === "text-delta") step.set(chunk.id, (step.get(chunk.id) ?? "") + chunk.delta);
  }
  const texts = steps.flatMap((step) => [...step.values()]);
  return texts.filter((text) => text !== "").join("\n\n");
}

/** `code: message`, as an error part has it. */
function failureIn(errorText: string, details?: object): ClientError {
  const [, code = "internal", message = errorText] = /^(\w+): (.*)/s.exec(errorText) ?? [];
  return new ClientError(code as ClientErrorCode, message, { details: { ...details } });
}
