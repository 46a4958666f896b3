import { getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { compact } from "../../value/json.ts";
import type { MessagePart, ToolPart } from "./message-parts.ts";

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
    const { providerMetadata, text: delta } = part;
    const about = compact({ providerMetadata });
    const kind = part.type;
    return [
      { type: `${kind}-start`, id, ...about },
      { type: `${kind}-delta`, id, delta },
      { type: `${kind}-end`, id, ...about },
    ];
  }
  if (isToolUIPart(part)) return toolChunks(part);
  // Files, sources and similar parts are valid chunks. Data parts are never stored.
  return part.type.startsWith("data-") ? [] : [part as UIMessageChunk];
}

function toolChunks(part: ToolPart): readonly UIMessageChunk[] {
  const { toolCallId, state, input, providerExecuted, approval } = part;
  const about = {
    toolCallId,
    ...(part.type === "dynamic-tool" ? { dynamic: true } : {}),
    ...compact({ providerExecuted }),
  };
  const toolName = getToolName(part);
  const call: UIMessageChunk = { type: "tool-input-available", toolName, input, ...about };
  const before: UIMessageChunk[] = [call];
  if (approval !== undefined) {
    const { id: approvalId, approved, reason, descriptor: approvalDescriptor } = approval;
    const request = { type: "tool-approval-request", toolCallId, approvalId } as const;
    before.push(compact({ ...request, approvalDescriptor }));
    const response = { type: "tool-approval-response", approvalId } as const;
    if (approved !== undefined) before.push(compact({ ...response, approved, reason }));
  }
  switch (state) {
    case "output-available":
      return [...before, { type: "tool-output-available", output: part.output, ...about }];
    case "output-error":
      return [...before, { type: "tool-output-error", errorText: part.errorText, ...about }];
    case "output-denied":
      return [...before, { type: "tool-output-denied", toolCallId }];
    default:
      return before;
  }
}
