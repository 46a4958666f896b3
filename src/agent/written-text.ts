import type { ModelMessage, ProviderMetadata } from "ai";
import { isObject } from "../value/json.ts";

/** Under this name the provider metadata of a text carries it as the model wrote it. */
const KEY = "byref";

/** The metadata of a text that was expanded, with what it was made of. */
export function keepWritten(written: string, metadata: ProviderMetadata = {}): ProviderMetadata {
  return { ...metadata, [KEY]: { written } };
}

/**
 * The messages with texts as the model wrote them. A client that keeps the conversation sends back what
 * it showed, and with it what `keepWritten` had put there: so no value comes into a prompt this way.
 */
export function asWritten(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === "assistant" && typeof message.content !== "string"
      ? { ...message, content: message.content.map(writtenPart) }
      : message,
  );
}

function writtenPart<Part extends { readonly type: string }>(part: Part): Part {
  if (part.type !== "text" || !("providerOptions" in part)) return part;
  const { providerOptions } = part;
  if (!isObject(providerOptions) || !isObject(providerOptions[KEY])) return part;
  const { [KEY]: kept, ...others } = providerOptions;
  const { written } = kept as { readonly written?: unknown };
  return typeof written === "string" ? { ...part, text: written, providerOptions: others } : part;
}
