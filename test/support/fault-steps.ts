import { APICallError } from "@ai-sdk/provider";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import type { Step } from "../../packages/testing/src/testing.ts";

/** Never settles. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** An endpoint that answers with this status. */
export function status(statusCode: number, responseHeaders: Record<string, string> = {}): Step {
  return () => {
    const about = { message: `Said ${statusCode}.`, url: "", requestBodyValues: {} };
    throw new APICallError({ ...about, statusCode, responseHeaders });
  };
}

/** Describes each part of a message in a word or two. */
export function keptIn(
  message: { readonly parts: readonly UIMessage["parts"][number][] } | undefined,
): readonly string[] {
  return (message?.parts ?? []).flatMap((part): string[] => {
    if (part.type === "step-start") return [];
    if (part.type === "text") return [clipped(part.text)];
    if (!isToolUIPart(part)) return [part.type];
    const how = part.state === "output-error" ? part.errorText.split(": ")[0] : part.state;
    return [`${getToolName(part)} ${how}`];
  });
}

function clipped(text: string): string {
  return text.length < 100 ? text : `${text.length} characters`;
}
