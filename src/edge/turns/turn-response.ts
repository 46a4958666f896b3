import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import type { VariableInfo } from "../../store/variable.ts";
import type { TurnResult } from "../../turn/turn.ts";
import { problemOf } from "../http/problem.ts";
import { messageStream, textStream } from "../http/frame-stream.ts";
import { preferred } from "../http/preferred.ts";
import type { QueuedTurn } from "./turn-queue.ts";

/** Compressed, the text would be held back until there is enough of it. */
const PLAIN_TEXT_HEADERS = {
  "content-type": "text/plain; charset=utf-8",
  "content-encoding": "identity",
};

export interface AnsweredTurn<Result> extends QueuedTurn<Result> {
  /** All of it, when it is done. */
  readonly whole: (result: Result) => Response;
}

/** In the form that `Accept` asks for; the UI message stream if it asks for nothing we have. */
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
  return turn.whole(await turn.result);
}

/** `variables`: the conversation's when the turn is done, newest last. */
export function wholeTurn(
  { message, metadata, error }: TurnResult,
  variables: readonly VariableInfo[],
): Response {
  if (error !== undefined) return problemOf(error.code, error.message, error.details);
  return Response.json({ message, variables, ...metadata });
}

/** Headers leave at once. A turn that fails outside of its own doing has ended its log. */
function stream(
  { result }: Pick<AnsweredTurn<unknown>, "result">,
  body: ReadableStream<Uint8Array>,
  headers: Record<string, string>,
): Response {
  result.catch((error: unknown) => console.error(error));
  return new Response(body, { headers: { ...headers, "cache-control": "no-cache" } });
}
