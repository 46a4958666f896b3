import type { LanguageModelV4TextPart } from "@ai-sdk/provider";

/** Joins consecutive texts, because many chat templates support only one text per message. */
export function joinedTexts<Part extends { readonly type: string }>(
  parts: readonly (Part | LanguageModelV4TextPart)[],
  between: (before: string, after: string) => string,
): (Part | LanguageModelV4TextPart)[] {
  const all: (Part | LanguageModelV4TextPart)[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last === undefined || !isPlainText(last) || !isPlainText(part)) all.push(part);
    else {
      const text = `${last.text}${between(last.text, part.text)}${part.text}`;
      all[all.length - 1] = { type: "text", text };
    }
  }
  return all;
}

function isPlainText(part: { readonly type: string }): part is LanguageModelV4TextPart {
  return part.type === "text" && !("providerOptions" in part && part.providerOptions !== undefined);
}
