import { isToolUIPart, type UIMessage } from "ai";
import type { TurnMetadata } from "../../../src/turn/turn.ts";
import { bytesInWords, figure } from "../words.ts";

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

/** What the server says about an answer. One that was stopped early may lack fields. */
interface AnswerMetadata extends Partial<TurnMetadata> {
  /** Error code. */
  readonly error?: string;
  readonly stopped?: boolean;
  /** Says that the model's provider has refused the prompt, and what it received instead. */
  readonly outlined?: string;
}

export function metadataOf(message: UIMessage | undefined): AnswerMetadata {
  return { ...(message?.metadata as AnswerMetadata | undefined) };
}

/** From this size on, calls show the size of a value beside its name. */
export const LARGE_BYTES = 10_000;

/** Describes a handle. Returns undefined for other outputs. */
export function handleIn(output: unknown) {
  if (typeof output !== "object" || output === null || !("$var" in output)) return undefined;
  const fields = output as Readonly<Record<string, unknown>>;
  const { $var: name, type, count, bytes, preview, visibility } = fields;
  const isKnown = typeof count === "number" && typeof bytes === "number";
  return {
    name: String(name),
    // Undefined for a small value, and for one that is hidden from models.
    size: isKnown ? `${String(type)} of ${figure(count)}, ${bytesInWords(bytes)}` : undefined,
    preview: textIn(preview),
    visibility: textIn(visibility),
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
