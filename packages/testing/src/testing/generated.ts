import type { LanguageModelV4Content, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { json } from "../../../../src/internal.ts";
import type { Part } from "./stream-parts.ts";

type Content = LanguageModelV4Content;
type Block = Extract<Content, { readonly type: "text" | "reasoning" }>;
type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** Returns what a call that does not stream would, of the parts that it would stream. */
export async function generated(
  parts: AsyncIterable<Part>,
): Promise<LanguageModelV4GenerateResult> {
  const content: Content[] = [];
  const blocks = new Map<string, Writable<Block>>();
  const result: Partial<Writable<LanguageModelV4GenerateResult>> = {};
  for await (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning";
        const block: Writable<Block> = {
          type,
          text: "",
          ...json.compact({ providerMetadata: part.providerMetadata }),
        };
        blocks.set(part.id, block);
        content.push(block);
        break;
      }
      case "text-delta":
      case "reasoning-delta": {
        const block = blocks.get(part.id);
        if (block !== undefined) block.text += part.delta;
        break;
      }
      case "stream-start":
        result.warnings = part.warnings;
        break;
      case "finish":
        Object.assign(result, { finishReason: part.finishReason, usage: part.usage });
        break;
      case "error":
        throw part.error;
      default:
        // The other parts of a stream announce, repeat or end something.
        if (WHOLE_PARTS.has(part.type)) content.push(part as Extract<Part, Content>);
    }
  }
  const { finishReason, usage, warnings = [] } = result;
  if (finishReason === undefined || usage === undefined) {
    throw new Error("The step ends without a finish.");
  }
  return { content, finishReason, usage, warnings };
}

const WHOLE_PARTS: ReadonlySet<string> = new Set<Content["type"]>([
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "source",
  "file",
]);
