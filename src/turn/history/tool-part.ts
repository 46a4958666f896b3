import type { MessagePart } from "./message-parts.ts";

/** A part that is a tool call. */
export type ToolPart = Extract<MessagePart, { toolCallId: string }>;

/** Copy of the SDK's `isToolUIPart`, because its main module adds 11 KiB to a Worker (gzip). */
export function isToolPart(part: MessagePart): part is ToolPart {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

/** The name of the tool that a part calls. */
export function toolNameOf(part: ToolPart): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
}
