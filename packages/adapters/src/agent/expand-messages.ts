import { json, type VariableStore } from "../../../../src/internal.ts";
import { type ExpandingOptions, expandText, withWritten } from "./expand-answer.ts";

/**
 * Returns messages of a history as people see them, with values in the texts of the assistant: `responseMessages`,
 * messages of a client, or messages that the memory of Mastra recalls. They are for display; the history itself
 * must keep references. A message that comes back from a client is restored: a changed part has the text that the
 * model wrote in its metadata.
 */
export async function expandMessages<Message extends { readonly role: string }>(
  messages: readonly Message[],
  store: VariableStore,
  options: ExpandingOptions = {},
): Promise<Message[]> {
  const expand = (text: string) => expandText(text, store, options);
  return Promise.all(
    messages.map(async (message) =>
      message.role === "assistant" ? ((await withTexts(message, expand)) as Message) : message,
    ),
  );
}

type Expand = (text: string) => Promise<string>;

/** Replaces the texts in `content` and `parts`, each of which may be a text or a list of parts. */
async function withTexts(holder: object, expand: Expand): Promise<object> {
  const { content, parts } = holder as { readonly content?: unknown; readonly parts?: unknown };
  return {
    ...holder,
    ...(content !== undefined && { content: await texts(content, "providerOptions", expand) }),
    ...(parts !== undefined && { parts: await texts(parts, "providerMetadata", expand) }),
  };
}

/** `metadata`: the key of a part's metadata. */
async function texts(held: unknown, metadata: string, expand: Expand): Promise<unknown> {
  if (typeof held === "string") return expand(held);
  if (!Array.isArray(held)) return json.isObject(held) ? withTexts(held, expand) : held;
  const parts: readonly unknown[] = held;
  return Promise.all(
    parts.map(async (part) => {
      if (!json.isObject(part) || part.type !== "text" || typeof part.text !== "string")
        return part;
      const text = await expand(part.text);
      if (text === part.text) return part;
      return { ...part, text, [metadata]: withWritten(part[metadata], part.text) };
    }),
  );
}
