import { isToolUIPart, type UIMessage } from "ai";

export type ToolPart = Extract<UIMessage["parts"][number], { toolCallId: string }>;

export function isToolPart(part: UIMessage["parts"][number]): part is ToolPart {
  return isToolUIPart(part);
}
