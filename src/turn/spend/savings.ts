import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { VariableStore } from "../../store/variable-store.ts";
import { variableIn } from "../../tool/tool-output.ts";
import type { ReferenceCount } from "../../tool/wrapped-tool.ts";

/** What passing by reference saved in a turn, in characters; counted, not guessed. */
export interface Savings {
  /** Sent to the model in all calls: instructions, messages, tool inputs and outputs; not the tools. */
  readonly promptChars: number;
  /** What the same calls would have carried with every handle replaced by its value. */
  readonly inlinePromptChars: number;
  /** What the model wrote as references, in tool inputs and in its answer. */
  readonly authoredChars: number;
  /** What these stood for. */
  readonly resolvedChars: number;
}

export class SavingsCounter {
  readonly #store: VariableStore;
  #promptChars = 0;
  #inlinePromptChars = 0;
  #authoredChars = 0;
  #resolvedChars = 0;

  constructor(store: VariableStore) {
    this.#store = store;
  }

  get savings(): Savings {
    return {
      promptChars: this.#promptChars,
      inlinePromptChars: this.#inlinePromptChars,
      authoredChars: this.#authoredChars,
      resolvedChars: this.#resolvedChars,
    };
  }

  /** Counts on from there. */
  restore({ promptChars, inlinePromptChars, authoredChars, resolvedChars }: Savings): void {
    this.#promptChars = promptChars;
    this.#inlinePromptChars = inlinePromptChars;
    this.#authoredChars = authoredChars;
    this.#resolvedChars = resolvedChars;
  }

  addReferences({ authoredChars, resolvedChars }: ReferenceCount): void {
    this.#authoredChars += authoredChars;
    this.#resolvedChars += resolvedChars;
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
    const extraChars = this.#extraChars(part);
    this.#promptChars += chars;
    this.#inlinePromptChars += chars + extraChars;
  }

  /** How much longer the part would be with the value in place of its handle. */
  #extraChars(part: unknown): number {
    const output = toolOutputIn(part);
    const name = variableIn(output);
    if (name === undefined || hasValue(output)) return 0;
    // The variable may have another version by now: its handle tells the size that it stood for.
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
    // An image has no characters.
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

/** Is the output made of content parts? */
function isContent(part: object): boolean {
  const output = "output" in part ? part.output : undefined;
  const isObject = typeof output === "object" && output !== null;
  return isObject && "type" in output && output.type === "content";
}

function hasValue(output: unknown): boolean {
  return typeof output === "object" && output !== null && "value" in output;
}

/** The size that the handle itself tells, for a variable that has gone. */
function bytesIn(output: unknown): number {
  if (typeof output !== "object" || output === null || !("bytes" in output)) return 0;
  return typeof output.bytes === "number" ? output.bytes : 0;
}
