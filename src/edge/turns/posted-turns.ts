import { compact, type Json } from "../../value/json.ts";
import type { UIMessageChunk } from "ai";
import { chunksOf } from "../../turn/history/message-chunks.ts";
import { endOf, type StoredMessage, toUIMessage } from "../../turn/history/stored-message.ts";
import { isSameKey, isSameQuestion, type Post } from "../../turn/history/post.ts";
import { digestOf } from "../../tool/tool-input.ts";
import type { TurnMetadata, TurnResult } from "../../turn/turn.ts";
import { TurnLog } from "../../turn/log/turn-log.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { TurnRequest } from "./turn-request.ts";
import type { QueuedTurn } from "./turn-queue.ts";

/** A turn that this request, or an earlier one, requested. */
export type RequestedTurn = QueuedTurn<TurnResult>;

/** Identifies a post that is sent again; undefined if it has no id and no key. */
export async function postOf({ idempotencyKey, ...turn }: TurnRequest): Promise<Post | undefined> {
  const { message, messageId, isRepeated } = turn;
  // An edit, and another answer to the same question, are always new turns.
  const isQuestion = messageId === undefined && isRepeated !== true && message?.id !== undefined;
  if (!isQuestion && idempotencyKey === undefined) return undefined;
  const parts = (message?.parts ?? []) as unknown as Json;
  return {
    ...(isQuestion ? { messageId: message.id } : {}),
    partsDigest: await digestOf(parts),
    ...compact({ idempotencyKey }),
    digest: idempotencyKey === undefined ? "" : await digestOf(JSON.stringify(turn)),
  };
}

/**
 * The post of a message whose files are variables now: a client that has read it from the history sends links in
 * place of the files.
 */
export async function shownPost(
  post: Post | undefined,
  message: StoredMessage | undefined,
): Promise<Post | undefined> {
  if (post === undefined || !message?.parts.some(({ type }) => type === "file")) return post;
  const shown = toUIMessage(message, "display").parts.map((part) => {
    if (part.type !== "file") return part;
    const { type, mediaType, filename, url } = part;
    return compact({ type, mediaType, filename, url });
  });
  return { ...post, shownDigest: await digestOf(shown as unknown as Json) };
}

/** Makes posts idempotent: the same post twice is one turn. */
export class PostedTurns {
  readonly #running = new Set<{ readonly post: Post; readonly turn: RequestedTurn }>();

  /** The turn of an equal post, if there is one. Throws `idempotency_mismatch`. */
  find(post: Post, data: ConversationData | undefined): RequestedTurn | undefined {
    for (const { post: other, turn } of this.#running) {
      // Called first because it throws for a different body.
      const isSame = isSameKey(post, other);
      if (isSame || isSameQuestion(post, other)) return { ...turn, first: 0 };
    }
    if (data === undefined) return undefined;
    const keyed = data.postKeys.turnOf(post, Date.now());
    if (keyed !== undefined) return endedTurn(keyed, data);
    const head = data.journal.head();
    if (head?.post === undefined || head.ended !== undefined) return undefined;
    return isSameQuestion(post, head.post) ? endedTurn(head.id, data) : undefined;
  }

  /** Keeps the turn until it ends. */
  add(post: Post, turn: RequestedTurn): void {
    const running = { post, turn };
    this.#running.add(running);
    const forget = () => void this.#running.delete(running);
    turn.result.then(forget, forget);
  }
}

/** Undefined if the turn has no message, or no longer. */
function endedTurn(id: string, { history, journal }: ConversationData): RequestedTurn | undefined {
  const message = history.get(id);
  if (message === undefined) return undefined;
  const isNewest = journal.head()?.id === id;
  const log = isNewest ? TurnLog.ended(journal) : TurnLog.of(endChunks(message));
  return { log, result: Promise.resolve(resultOf(message)), first: 0 };
}

/** The message as chunks of a stream. */
function endChunks(message: StoredMessage): readonly UIMessageChunk[] {
  const { metadata } = message;
  const about: UIMessageChunk = { type: "message-metadata", messageMetadata: metadata };
  return [...chunksOf(toUIMessage(message, "display")), about, lastChunk(message)];
}

function lastChunk(message: StoredMessage): UIMessageChunk {
  const { error, finishReason, isStopped } = endOf(message);
  if (isStopped) return { type: "abort" };
  if (error === undefined) return { type: "finish", finishReason };
  return { type: "error", errorText: `${error.code}: ${error.message}` };
}

function resultOf(stored: StoredMessage): TurnResult {
  // Written at the end of the turn.
  const { usage, savings, cost, finishReason: why } = stored.metadata as TurnMetadata;
  const metadata = compact({ usage, savings, cost, finishReason: why });
  const { finishReason, error } = endOf(stored);
  return compact({ metadata, message: toUIMessage(stored, "display"), finishReason, error });
}
