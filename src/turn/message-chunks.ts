import { getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import type { MessagePart } from "./message-parts.ts";

/** What a client makes the message of, when it is sent once more; without its end. */
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
    const { providerMetadata, text: delta } = part;
    const about = providerMetadata === undefined ? {} : { providerMetadata };
    const kind = part.type;
    return [
      { type: `${kind}-start`, id, ...about },
      { type: `${kind}-delta`, id, delta },
      { type: `${kind}-end`, id, ...about },
    ];
  }
  if (isToolUIPart(part)) return toolChunks(part);
  // Files, sources and the like are chunks as they are; data parts are never kept.
  return part.type.startsWith("data-") ? [] : [part as UIMessageChunk];
}

function toolChunks(part: Extract<MessagePart, { toolCallId: string }>): readonly UIMessageChunk[] {
  const { toolCallId, state, input } = part;
  const toolName = getToolName(part);
  const dynamic = part.type === "dynamic-tool" ? { dynamic: true } : {};
  const call: UIMessageChunk = {
    type: "tool-input-available",
    toolCallId,
    toolName,
    input,
    ...dynamic,
  };
  if (state === "output-available") {
    return [call, { type: "tool-output-available", toolCallId, output: part.output, ...dynamic }];
  }
  if (state === "output-error") {
    return [call, { type: "tool-output-error", toolCallId, errorText: part.errorText, ...dynamic }];
  }
  if (state === "output-denied") return [call, { type: "tool-output-denied", toolCallId }];
  if (state !== "approval-requested") return [call];
  return [call, { type: "tool-approval-request", toolCallId, approvalId: part.approval.id }];
}
