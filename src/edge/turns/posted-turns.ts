import { compact, type Json } from "../../value/json.ts";
import { getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import type { MessagePart, ToolPart } from "../../turn/history/message-parts.ts";
import { endOf, type StoredMessage, toUIMessage } from "../../turn/history/stored-message.ts";
import { isSameQuestion, type Post } from "../../turn/history/post.ts";
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

/** The turn of an equal post that has ended, if its answer is still there. */
export function turnOfPost(post: Post, data: ConversationData): RequestedTurn | undefined {
  const keyed = data.postKeys.turnOf(post, Date.now());
  if (keyed !== undefined) return endedTurn(keyed, data);
  const head = data.journal.head();
  const isAnswered = head?.post !== undefined && head.ended === undefined;
  return isAnswered && isSameQuestion(post, head.post) ? endedTurn(head.id, data) : undefined;
}

/** Undefined if the turn has no message, or no longer. */
function endedTurn(id: string, { history, journal }: ConversationData): RequestedTurn | undefined {
  const message = history.get(id);
  if (message === undefined) return undefined;
  const shown = toUIMessage(message, "display");
  // Written at the end of the turn.
  const metadata = message.metadata as TurnMetadata;
  const { usage, savings, cost, finishReason: why } = metadata;
  const end = endOf(message);
  const isNewest = journal.head()?.id === id;
  const log = isNewest
    ? TurnLog.ended(journal)
    : TurnLog.of([
        ...chunksOf(shown),
        { type: "message-metadata", messageMetadata: metadata },
        lastChunk(end),
      ]);
  const { finishReason, error } = end;
  const result = compact({
    metadata: compact({ usage, savings, cost, finishReason: why }),
    message: shown,
    finishReason,
    error,
  });
  return { log, result: Promise.resolve(result), first: 0 };
}

function lastChunk({ error, finishReason, isStopped }: ReturnType<typeof endOf>): UIMessageChunk {
  if (isStopped) return { type: "abort" };
  if (error === undefined) return { type: "finish", finishReason };
  return { type: "error", errorText: `${error.code}: ${error.message}` };
}

/** Returns the chunks from which a client builds the message when it is sent again, without the end. */
export function chunksOf({ id, parts }: UIMessage): readonly UIMessageChunk[] {
  const chunks: UIMessageChunk[] = [{ type: "start", messageId: id }];
  for (const [index, part] of parts.entries()) {
    if (part.type === "step-start" && index > 0) chunks.push({ type: "finish-step" });
    chunks.push(...chunksOfPart(part, `part_${index}`));
  }
  return [...chunks, { type: "finish-step" }];
}

function chunksOfPart(part: MessagePart, id: string): readonly UIMessageChunk[] {
  if (part.type === "step-start") return [{ type: "start-step" }];
  if (part.type === "text" || part.type === "reasoning") {
    const { providerMetadata, text: delta, type: kind } = part;
    const about = compact({ providerMetadata });
    const citations = part.type === "text" ? compact({ citations: part.citations }) : {};
    return [
      { type: `${kind}-start`, id, ...about },
      { type: `${kind}-delta`, id, delta },
      { type: `${kind}-end`, id, ...about, ...citations },
    ];
  }
  if (isToolUIPart(part)) return toolChunks(part);
  // Files, sources and similar parts are valid chunks. Data parts are never stored.
  return part.type.startsWith("data-") ? [] : [part as UIMessageChunk];
}

function toolChunks(part: ToolPart): readonly UIMessageChunk[] {
  const { toolCallId, state, input, providerExecuted, approval, title, toolMetadata } = part;
  const about = {
    toolCallId,
    ...(part.type === "dynamic-tool" ? { dynamic: true } : {}),
    ...compact({ providerExecuted }),
  };
  const toolName = getToolName(part);
  const { callProviderMetadata: providerMetadata } = part;
  const called = {
    toolName,
    input,
    ...about,
    ...compact({ title, toolMetadata, providerMetadata }),
  };
  const before: UIMessageChunk[] = [{ type: "tool-input-available", ...called }];
  if (approval !== undefined) {
    const { id: approvalId, approved, reason, descriptor: approvalDescriptor } = approval;
    const request = { type: "tool-approval-request", toolCallId, approvalId } as const;
    before.push(compact({ ...request, approvalDescriptor }));
    const response = { type: "tool-approval-response", approvalId } as const;
    if (approved !== undefined) before.push(compact({ ...response, approved, reason }));
  }
  switch (state) {
    case "output-available": {
      const { output, resultProviderMetadata } = part;
      const done = { output, ...about, ...compact({ providerMetadata: resultProviderMetadata }) };
      return [...before, { type: "tool-output-available", ...done }];
    }
    case "output-error":
      return [...before, { type: "tool-output-error", errorText: part.errorText, ...about }];
    case "output-denied":
      return [...before, { type: "tool-output-denied", toolCallId }];
    default:
      return before;
  }
}
