import { type FinishReason, UI_MESSAGE_STREAM_HEADERS, type UIMessageChunk } from "ai";
import type { VariableInfo } from "../../store/variable.ts";
import type { TurnResult } from "../../turn/turn.ts";
import { type FailurePlace, logIfFailure } from "../log-failure.ts";
import { problemOf } from "../http/problem.ts";
import { strictJson } from "../../value/strict-json.ts";
import { preferred } from "../http/request-headers.ts";
import { LIVE } from "../http/event-streams.ts";
import { type Frame, TurnLog } from "../../turn/log/turn-log.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { QueuedTurn } from "./turn-queue.ts";
import * as limits from "../../limits.ts";
import { joinBytes, streamOf } from "../../value/bytes.ts";
import { isHighSurrogate } from "../../value/characters.ts";
import { isObject } from "../../value/json.ts";
import { byteLength } from "../../value/encoding.ts";
import { typeOf } from "../../turn/log/recovery.ts";

const EVENT_HEADERS = { ...UI_MESSAGE_STREAM_HEADERS, ...LIVE };
const TEXT_HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  // The platform compresses text otherwise.
  "content-encoding": "identity",
  ...LIVE,
};

export interface AnsweredTurn<Result> extends QueuedTurn<Result> {
  /** Creates the response when the turn is done. */
  readonly toResponse: (result: Result) => Response;
  /** For the log, if it fails after the response has begun. */
  readonly place: FailurePlace;
}

/** Responds in the form that `Accept` requests. Default: the UI message stream. */
export async function respond<Result>(accept: string | null, turn: AnsweredTurn<Result>) {
  const type = preferred(accept, ["text/event-stream", "application/json", "text/plain"]);
  const { log, first, result, place } = turn;
  if (type === "application/json") return turn.toResponse(await result);
  // The headers are sent at once; failures are in the log.
  result.catch((error: unknown) => logIfFailure(error, place));
  return type === "text/plain"
    ? new Response(textStream(log, first), { headers: TEXT_HEADERS })
    : new Response(messageStream(log, first, accept), { headers: EVENT_HEADERS });
}

/** `variables`: those at the end of the turn, newest last. */
export function turnResponse(
  { message, metadata, error }: TurnResult,
  variables: readonly VariableInfo[],
): Response {
  if (error !== undefined) return problemOf(error.code, error.message, error.details);
  return strictResponse({ message, variables, ...metadata });
}

/**
 * Streams the running turn's frames from the first, or those of the last turn after the frame `after`.
 * Responds with 204 if there is nothing to watch.
 */
export function watchTurn(
  { queue, data }: Pick<ConversationContext, "queue" | "data">,
  { after, accept }: { readonly after?: number | undefined; readonly accept: string | null },
): Response {
  const journal = data?.journal;
  const hasEnded = after !== undefined && journal?.head()?.isOpen === false;
  const log = queue.running ?? (hasEnded ? TurnLog.ended(journal) : undefined);
  if (log === undefined) return new Response(null, { status: 204 });
  const first = after === undefined ? 0 : log.indexAfter(after);
  return new Response(messageStream(log, first, accept), { headers: EVENT_HEADERS });
}

/**
 * The UI message stream as server-sent events, from the frame with index `first`. Default: the turn's own
 * frames.
 */
export function messageStream(
  log: TurnLog,
  first?: number,
  accept: string | null = null,
): ReadableStream<Uint8Array> {
  const isForSdk6 = /\btext\/event-stream\s*;\s*sdk=6\b/iu.test(accept ?? "");
  const framesFor = isForSdk6 ? framesForSdk6() : (frame: Frame) => [frame];
  const write = (frame: Frame) =>
    framesFor(frame)
      .map(({ id, data }) => `id: ${id}\ndata: ${data}\n\n`)
      .join("");
  const form = { write, last: "data: [DONE]\n\n", keepAlive: ": waiting\n\n" };
  return streamOf(written(log, first, form));
}

/** The answer's text. Approval requests, errors and the states of a plan's calls are separate lines. */
export function textStream(log: TurnLog, first?: number): ReadableStream<Uint8Array> {
  let hasText = false;
  /** A request for an input that a person has changed. If it is answered next, it was shown before. */
  let request = "";
  const write = ({ data }: Frame) => {
    // The log encoded a chunk.
    const chunk = JSON.parse(data) as UIMessageChunk;
    // The texts of several steps become paragraphs.
    const gap = chunk.type === "text-start" && hasText ? "\n\n" : "";
    hasText ||= chunk.type === "text-delta";
    const before = chunk.type === "tool-approval-response" ? "" : request;
    const text = gap + textOf(chunk);
    const { approvalDescriptor } = chunk.type === "tool-approval-request" ? chunk : {};
    const isHeld = isObject(approvalDescriptor) && approvalDescriptor.changed !== undefined;
    request = isHeld ? text : "";
    return before + (isHeld ? "" : text);
  };
  return streamOf(written(log, first, { write, last: "", keepAlive: "" }));
}

async function* written(
  log: TurnLog,
  first: number | undefined,
  form: { readonly write: (frame: Frame) => string; last: string; keepAlive: string },
): AsyncGenerator<Uint8Array> {
  const { write, last, keepAlive } = form;
  const encoder = new StreamEncoder();
  for await (const frames of framesOf(log, first)) {
    // Even nothing is a part, after which a reader that has left ends this.
    yield encoder.encode(frames.length === 0 ? keepAlive : frames.map(write).join(""));
  }
  yield encoder.end(last);
}

/**
 * Yields the frames available together until the log ends; an empty list after a long silence. Default of
 * `from`: the turn's own frames, once it has begun.
 */
export async function* framesOf(log: TurnLog, from?: number) {
  let first = from;
  let next = from ?? 0;
  for (;;) {
    while (next >= log.length && !log.isEnded) {
      if (!(await log.waitForFrames(limits.keepAliveMs))) yield [];
    }
    if (first === undefined) next = first = log.firstOwn;
    // Limits what a slow reader keeps in memory.
    const end = log.endWithin(next, limits.maxPieceChars);
    const frames = log.slice(next, first, end);
    next = Math.max(next, end);
    const isEnded = log.isEnded && next >= log.length;
    if (frames.length > 0) yield frames;
    if (isEnded) return;
  }
}

/** The text of a chunk. After `reset-step`, the rest of the answer replaces text that was sent already. */
function textOf(chunk: UIMessageChunk): string {
  if (chunk.type === "text-delta") return chunk.delta;
  if (chunk.type === "reset-step")
    return "\n\n[reset: what follows stands in for this answer's end]\n\n";
  if (chunk.type === "tool-approval-request") return `\n[approval: ${chunk.approvalId}]\n`;
  if (chunk.type === "finish") return cutLine(chunk.finishReason);
  if (chunk.type === "data-call" || chunk.type === "data-run") return lineOf(chunk.data);
  if (chunk.type !== "error") return "";
  const colon = chunk.errorText.indexOf(": ");
  return `\n[error: ${chunk.errorText.slice(0, colon)}] ${chunk.errorText.slice(colon + 2)}\n`;
}

/** A line for an answer that is not complete. */
function cutLine(reason: FinishReason | undefined): string {
  if (reason === "length")
    return "\n[finish: length] The answer is cut off at the model's output limit.\n";
  if (reason === "content-filter")
    return "\n[finish: content-filter] The provider's filter ended the answer.\n";
  return reason === "other" ? "\n[finish: other] The provider gave no known reason.\n" : "";
}

/** A line with the state of a plan's call or run, and its output as JSON, which has no line breaks. */
function lineOf(data: unknown): string {
  if (!isObject(data)) return "";
  const { call = "run", status, reason, output } = data;
  const why = reason === undefined ? "" : ` (${String(reason)})`;
  const result = output === undefined ? "" : ` → ${JSON.stringify(output)}`;
  return `${String(call)}: ${String(status)}${why}${result}\n`;
}

/** Encodes UTF-8. A surrogate pair may be split between two texts. A last line says where half of one was replaced. */
class StreamEncoder {
  readonly #encoder = new TextEncoder();
  #held = "";
  #bytes = 0;
  /** The number of the first byte of what replaced half of a character. */
  #replaced: number | undefined;

  encode(text: string): Uint8Array {
    const all = this.#held + text;
    const endsInHalf = isHighSurrogate(all.charCodeAt(all.length - 1));
    this.#held = endsInHalf ? all.slice(-1) : "";
    return this.#write(endsInHalf ? all.slice(0, -1) : all);
  }

  end(text: string): Uint8Array {
    const rest = this.#write(this.#held + text);
    if (this.#replaced === undefined) return rest;
    const line = `\n[error: bad_value] Half of a character (a lone surrogate) is replaced from byte ${this.#replaced} on, because text cannot hold it. Ask for JSON or an event stream.\n`;
    return joinBytes([rest, this.#write(line)]);
  }

  #write(text: string): Uint8Array {
    const half = text.isWellFormed() ? undefined : text.search(/\p{Cs}/u);
    if (half !== undefined) this.#replaced ??= this.#bytes + byteLength(text.slice(0, half)) + 1;
    const bytes = this.#encoder.encode(text);
    this.#bytes += bytes.length;
    return bytes;
  }
}

/** Types of chunks that came with AI SDK 7. Clients of AI SDK 6 refuse them, and with them the stream. */
const SINCE_7: ReadonlySet<string> = new Set([
  "custom",
  "reasoning-file",
  "reset-step",
  "tool-approval-response",
]);

/**
 * Returns a function that converts frames for a client of AI SDK 6: newer chunks become transient data parts, for
 * example `data-reset-step`. Texts that a reset would remove stay; they are ended.
 */
function framesForSdk6(): (frame: Frame) => readonly Frame[] {
  /** Chunks that end the open texts. */
  const open = new Set<string>();
  return (frame) => {
    const type = typeOf(frame.data);
    const { id, data } = frame;
    if (/^(?:text|reasoning)-(?:start|end)$/u.test(type)) {
      // The log encoded a chunk of such a type.
      const chunk = JSON.parse(data) as Extract<UIMessageChunk, { type: "text-start" }>;
      const end = JSON.stringify({ type: type.replace("start", "end"), id: chunk.id });
      if (type.endsWith("start")) open.add(end);
      else open.delete(end);
    }
    if (!SINCE_7.has(type)) return [frame];
    const ends = type === "reset-step" ? [...open] : [];
    if (type === "reset-step") open.clear();
    const part = `{"type":"data-${type}","data":${data},"transient":true}`;
    return [...ends, part].map((data) => ({ id, data }));
  };
}

/** Responds with JSON that the AI SDK's clients accept. */
export function strictResponse(body: object): Response {
  return new Response(strictJson(body), { headers: { "content-type": "application/json" } });
}
