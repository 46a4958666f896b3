import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { VariableStore } from "../../store/variable-store.ts";
import { variableIn } from "../../tool/tool-output.ts";
import type { ReferenceCount } from "../../tool/wrapped-tool.ts";

/** Characters saved in a turn by passing values by reference. Counted, not estimated. */
export interface Savings {
  /**
   * Characters sent to the model in all calls: instructions, messages, tool inputs and outputs. Excludes tool
   * definitions.
   */
  readonly promptChars: number;
  /** Characters of the same calls with every handle replaced by its value. */
  readonly inlinePromptChars: number;
  /** Characters of references that the model wrote in tool inputs and in its answer. */
  readonly authoredChars: number;
  /** Characters of the values that these references resolved to. */
  readonly resolvedChars: number;
}

export class SavingsCounter {
  readonly #store: VariableStore;
  #savings: Savings = { promptChars: 0, inlinePromptChars: 0, authoredChars: 0, resolvedChars: 0 };

  constructor(store: VariableStore) {
    this.#store = store;
  }

  get savings(): Savings {
    return this.#savings;
  }

  /** Continues from stored counts. */
  restore(savings: Savings): void {
    this.#savings = savings;
  }

  addReferences({ authoredChars, resolvedChars }: ReferenceCount): void {
    const savings = this.#savings;
    this.#savings = {
      ...savings,
      authoredChars: savings.authoredChars + authoredChars,
      resolvedChars: savings.resolvedChars + resolvedChars,
    };
  }

  /** Counts one model call. Cost: linear in the prompt. */
  addPrompt(prompt: LanguageModelV4Prompt): void {
    for (const message of prompt) {
      const parts = typeof message.content === "string" ? [message.content] : message.content;
      for (const part of parts) this.#addPart(part);
    }
  }

  #addPart(part: unknown): void {
    const chars = charsOf(part);
    const { promptChars, inlinePromptChars } = this.#savings;
    this.#savings = {
      ...this.#savings,
      promptChars: promptChars + chars,
      inlinePromptChars: inlinePromptChars + chars + this.#extraChars(part),
    };
  }

  /** The additional characters if the value replaced its handle. */
  #extraChars(part: unknown): number {
    const output = toolOutputIn(part);
    const name = variableIn(output);
    if (name === undefined || hasValue(output)) return 0;
    // The variable may have another version by now. The handle has the size of the version that was shown.
    const info = this.#store.info(name);
    const bytes = bytesIn(output);
    const valueChars = info?.bytes === bytes ? info.chars : bytes;
    return Math.max(valueChars - JSON.stringify(output).length, 0);
  }
}

function charsOf(part: unknown): number {
  if (typeof part === "string") return part.length;
  if (typeof part !== "object" || part === null) return 0;
  if ("text" in part && typeof part.text === "string") return part.text.length;
  if ("input" in part) return JSON.stringify(part.input ?? null).length;
  const output = toolOutputIn(part);
  if (isContent(part) && Array.isArray(output)) {
    // Images count as zero characters.
    return output.reduce<number>((sum, item) => sum + charsOf(item), 0);
  }
  if (output !== undefined)
    return typeof output === "string" ? output.length : JSON.stringify(output).length;
  return 0;
}

function toolOutputIn(part: unknown): unknown {
  if (typeof part !== "object" || part === null || !("output" in part)) return undefined;
  const { output } = part;
  if (typeof output !== "object" || output === null || !("value" in output)) return undefined;
  return output.value;
}

/** True if the output consists of content parts. */
function isContent(part: object): boolean {
  const output = "output" in part ? part.output : undefined;
  const isObject = typeof output === "object" && output !== null;
  return isObject && "type" in output && output.type === "content";
}

function hasValue(output: unknown): boolean {
  return typeof output === "object" && output !== null && "value" in output;
}

/** The size in the handle itself, for a variable that no longer exists. */
function bytesIn(output: unknown): number {
  if (typeof output !== "object" || output === null || !("bytes" in output)) return 0;
  return typeof output.bytes === "number" ? output.bytes : 0;
}
