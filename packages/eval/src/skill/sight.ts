import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
} from "@ai-sdk/provider";
import { json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** A call in the prompt, with its result as the model sees it. */
export interface SeenCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, Json>>;
  /** Absent while the call has no result. */
  readonly output?: Json;
  /** True if the result is an error, or notes references that were not resolved. */
  readonly isWrong: boolean;
}

/** The parts of a prompt that a scripted model reads. */
export interface Sight {
  /** The user's last message. */
  readonly question: string;
  readonly calls: readonly SeenCall[];
  readonly tools: ReadonlySet<string>;
}

/** Reads a prompt as a model does. */
export function sightOf(
  prompt: LanguageModelV4Prompt,
  tools: NonNullable<LanguageModelV4CallOptions["tools"]>,
): Sight {
  const seen = prompt.flatMap(partsOf);
  const results = new Map(seen.flatMap(({ id, text }) => (id === undefined ? [] : [[id, text]])));
  const calls = prompt.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => (part.type === "tool-call" ? [part] : []))
      : [],
  );
  const question = seen.findLast(
    ({ role, text }) => role === "user" && !text.startsWith("<variables>"),
  );
  return {
    question: question?.text ?? "",
    calls: calls.map((call) => seenCall(call, results.get(call.toolCallId))),
    tools: new Set(tools.map(({ name }) => name)),
  };
}

interface PromptPart {
  readonly role: LanguageModelV4Message["role"];
  readonly text: string;
  /** The call of a result. */
  readonly id?: string;
}

/** The texts of a message, as a provider sends them. */
function partsOf(message: LanguageModelV4Message): readonly PromptPart[] {
  const { role } = message;
  if (role === "system") return [{ role, text: message.content }];
  return message.content.flatMap((part): PromptPart[] => {
    if (part.type === "text") return [{ role, text: part.text }];
    if (part.type !== "tool-result") return [];
    const { output, toolCallId: id } = part;
    const value = "value" in output ? output.value : "";
    const isText = typeof value === "string" && output.type !== "json";
    return [{ role, id, text: isText ? value : JSON.stringify(value) }];
  });
}

function seenCall(
  { toolName: tool, input }: LanguageModelV4ToolCallPart,
  text: string | undefined,
): SeenCall {
  const given = json.isObject(input) ? (input as SeenCall["input"]) : {};
  if (text === undefined) return { tool, input: given, isWrong: false };
  const output = parsed(text);
  return { tool, input: given, output, isWrong: isWrong(output, Object.values(given)) };
}

/** Reads JSON if the text is JSON. */
export function parsed(text: string): Json {
  if (!/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The AI SDK shows an error with the name of its class. */
const ERROR = /^(?:\w*Error: |[a-z]+(?:_[a-z]+)+: )/u;

/** A note is about a mistake only if the reference was a whole argument: in other texts it is a text. */
function isWrong(output: Json, written: readonly unknown[]): boolean {
  if (typeof output === "string") return ERROR.test(output);
  const notes = json.isObject(output) && Array.isArray(output.unresolved) ? output.unresolved : [];
  return notes.some((note: unknown) => json.isObject(note) && written.includes(note.reference));
}
