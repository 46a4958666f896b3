import { isToolUIPart, type UIMessage } from "ai";

export type ToolPart = Extract<UIMessage["parts"][number], { toolCallId: string }>;
export type AskingPart = Extract<ToolPart, { state: "approval-requested" }>;

export const isToolPart: (part: UIMessage["parts"][number]) => part is ToolPart = isToolUIPart;

/** Returns the calls of a message that wait for an approval. */
export function askingIn(message: UIMessage | undefined): readonly AskingPart[] {
  const calls = (message?.parts ?? []).filter(isToolPart);
  return calls.filter((part) => part.state === "approval-requested");
}

export function textsOf(parts: UIMessage["parts"]): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
