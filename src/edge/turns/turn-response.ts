import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import type { VariableInfo } from "../../store/variable.ts";
import type { TurnResult } from "../../turn/turn.ts";
import { problemOf } from "../http/problem.ts";
import { messageStream, textStream } from "../http/frame-stream.ts";
import { preferred } from "../http/preferred.ts";
import { TurnLog } from "../../turn/log/turn-log.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { QueuedTurn, TurnQueue } from "./turn-queue.ts";

/** Compression would delay the text. */
const PLAIN_TEXT_HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "content-encoding": "identity",
};

export interface AnsweredTurn<Result> extends QueuedTurn<Result> {
  /** Creates the response when the turn is done. */
  readonly toResponse: (result: Result) => Response;
}

/** Responds in the form that `Accept` requests. Default: the UI message stream. */
export async function respond<Result>(
  accept: string | null,
  turn: AnsweredTurn<Result>,
): Promise<Response> {
  const type = preferred(accept, ["text/event-stream", "application/json", "text/plain"]);
  if (type === "text/event-stream") {
    return stream(turn, messageStream(turn.log, turn.first), UI_MESSAGE_STREAM_HEADERS);
  }
  if (type === "text/plain") {
    return stream(turn, textStream(turn.log, turn.first), PLAIN_TEXT_HEADERS);
  }
  return turn.toResponse(await turn.result);
}

/** `variables`: those at the end of the turn, newest last. */
export function turnResponse(
  { message, metadata, error }: TurnResult,
  variables: readonly VariableInfo[],
): Response {
  if (error !== undefined) return problemOf(error.code, error.message, error.details);
  return Response.json({ message, variables, ...metadata });
}

/** Sends the headers at once; failures are in the log. */
function stream(
  { result }: Pick<AnsweredTurn<unknown>, "result">,
  body: ReadableStream<Uint8Array>,
  headers: Record<string, string>,
): Response {
  result.catch((error: unknown) => console.error(error));
  return new Response(body, { headers: { ...headers, "cache-control": "no-cache" } });
}

/**
 * Streams the running turn's frames from the first, or those of the last turn after the frame `after`.
 * Responds with 204 if there is nothing to watch.
 */
export function watchTurn({ queue, data }: WatchedConversation, after?: number): Response {
  const log = queue.running ?? (after === undefined ? undefined : lastLog(data));
  if (log === undefined) return new Response(null, { status: 204 });
  const first = after === undefined ? 0 : log.indexAfter(after);
  const headers = { ...UI_MESSAGE_STREAM_HEADERS, "cache-control": "no-cache" };
  return new Response(messageStream(log, first), { headers });
}

interface WatchedConversation {
  readonly queue: TurnQueue;
  readonly data: ConversationData | undefined;
}

/** The log of the newest turn, if it has ended. */
function lastLog(data: ConversationData | undefined): TurnLog | undefined {
  const journal = data?.journal;
  return journal?.head()?.isOpen === false ? TurnLog.ended(journal) : undefined;
}
