import type { LanguageModelV4Message, LanguageModelV4ToolResultOutput } from "@ai-sdk/provider";
import { joinedTexts } from "../../tool/joined-texts.ts";

type Message = LanguageModelV4Message;
type Of<Role extends Message["role"]> = Extract<Message, { role: Role }>;

/** Stands between results and the next question, where chat templates want an answer. */
const NO_ANSWER: Message = {
  role: "assistant",
  content: [{ type: "text", text: "The turn ended without an answer." }],
};

/**
 * Returns messages of a person and of the model by turns, as many chat templates want them; results count as part of the
 * model's. `isNote`: true for messages of the runtime, which may be in a result.
 */
export function alternating(
  messages: readonly Message[],
  isNote: (message: Message) => boolean,
): Message[] {
  const all: Message[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (message.role === "user" && last?.role === "tool" && isNote(message)) {
      all[all.length - 1] = withNote(last, textOf(message));
      continue;
    }
    if (message.role === "user" && last?.role === "tool") all.push(NO_ANSWER);
    if (message.role === "user" && last?.role === "user") {
      all[all.length - 1] = {
        ...last,
        content: joinedTexts([...last.content, ...message.content], () => "\n\n"),
      };
    } else if (message.role === "assistant" && last?.role === "assistant") {
      all[all.length - 1] = { ...last, content: [...last.content, ...message.content] };
    } else if (message.role === "user") {
      all.push({ ...message, content: joinedTexts(message.content, () => "\n\n") });
    } else all.push(message);
  }
  return all;
}

/** Appends a note to the last result, because only the model may follow. */
function withNote(message: Of<"tool">, note: string): Message {
  const content = message.content.map((part, at) => {
    if (part.type !== "tool-result" || at < message.content.length - 1) return part;
    const { output } = part;
    if (output.type === "content")
      return {
        ...part,
        output: { ...output, value: [...output.value, { type: "text" as const, text: note }] },
      };
    const isError = output.type === "error-text" || output.type === "error-json";
    const type = isError ? ("error-text" as const) : ("text" as const);
    return { ...part, output: { type, value: `${saidIn(output)}\n\n${note}` } };
  });
  return { ...message, content };
}

export function textOf({ content }: Of<"user">): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n\n");
}

/** The output as a text. */
export function saidIn(output: LanguageModelV4ToolResultOutput): string {
  if (output.type === "execution-denied") return output.reason ?? "The call was not allowed.";
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
}
