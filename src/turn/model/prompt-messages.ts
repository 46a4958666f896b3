import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ModelMessage } from "ai";

type Convert = (messages: ModelMessage[]) => Promise<LanguageModelV4Prompt>;

/**
 * Messages as a provider takes them. `convert` is the SDK's way, which takes more of a turn of a thousand
 * messages than anything else does; most of a long history is nothing but text, and is converted here.
 */
export async function promptMessages(
  messages: readonly ModelMessage[],
  convert: Convert,
): Promise<LanguageModelV4Prompt> {
  const prompt: LanguageModelV4Prompt = [];
  let others: ModelMessage[] = [];
  for (const message of messages) {
    const text = textMessage(message);
    if (text === undefined) {
      others.push(message);
      continue;
    }
    // Together, for calls and their results may stand in messages one after the other.
    if (others.length > 0) prompt.push(...(await convert(others)));
    others = [];
    prompt.push(text);
  }
  if (others.length > 0) prompt.push(...(await convert(others)));
  return prompt;
}

/** The same that the SDK makes of it; undefined if there is something else than text in it. */
function textMessage({
  role,
  content,
  providerOptions,
}: ModelMessage): LanguageModelV4Message | undefined {
  if ((role !== "user" && role !== "assistant") || providerOptions !== undefined) return undefined;
  if (typeof content === "string") return { role, content: [{ type: "text", text: content }] };
  const texts: { type: "text"; text: string }[] = [];
  for (const part of content) {
    if (part.type !== "text" || part.text === "" || part.providerOptions !== undefined)
      return undefined;
    texts.push({ type: "text", text: part.text });
  }
  return { role, content: texts };
}
