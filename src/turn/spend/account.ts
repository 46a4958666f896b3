import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider";
import * as limits from "../../limits.ts";
import type { VariableStore } from "../../store/variables.ts";
import { CHARS_PER_TOKEN, variableIn } from "../../tool/tool-output.ts";
import { compact, isObject } from "../../value/json.ts";
import type { ReferenceCount } from "../../tool/wrapped-tool.ts";
import type { Spend, Spent, Usage } from "./spend.ts";

/** Characters saved in a turn by passing values by reference. Counted, not estimated. */
export interface Savings {
  /** Characters sent to the model in all calls: instructions, messages, guidance and tool definitions. */
  readonly promptChars: number;
  /**
   * Characters of the same calls with every handle replaced by its value, each call at most what fits into
   * the model's context window.
   */
  readonly inlinePromptChars: number;
  /** Calls that would not have fitted into the context window with the values. Absent if all would have. */
  readonly wouldNotFit?: number;
  /** Characters of references that the model wrote in tool inputs and in its answer. */
  readonly authoredChars: number;
  /** Characters of the values that these references resolved to. */
  readonly resolvedChars: number;
}

export interface Counts {
  readonly usage: Usage;
  readonly savings: Savings;
  readonly spent: Spent;
}

/** The cost of a turn or a plan run so far, including agents called during it. */
export class Account {
  readonly spend: Spend;
  readonly #store: VariableStore;
  readonly #maxInlineChars: number;
  #usage: Usage = {};
  #savings: Savings = { promptChars: 0, inlinePromptChars: 0, authoredChars: 0, resolvedChars: 0 };

  /** `contextTokens`: the model's context window. */
  constructor(store: VariableStore, spend: Spend, contextTokens: number = limits.contextTokens) {
    this.spend = spend;
    this.#store = store;
    this.#maxInlineChars = contextTokens * CHARS_PER_TOKEN;
  }

  get counts(): Counts {
    return { usage: this.#usage, savings: this.#savings, spent: this.spend.turn };
  }

  restore({ usage, savings, spent }: Counts): void {
    this.#usage = usage;
    this.#savings = savings;
    this.spend.turn = spent;
  }

  /** Counts one model call, as far as its provider reported it. */
  addCall(usage: Usage = {}): void {
    const sum = this.#usage;
    // A number that was never reported stays absent.
    const add = (key: keyof Usage) =>
      sum[key] === undefined ? usage[key] : sum[key] + (usage[key] ?? 0);
    this.#usage = compact({
      inputTokens: add("inputTokens"),
      cachedInputTokens: add("cachedInputTokens"),
      outputTokens: add("outputTokens"),
      totalTokens: add("totalTokens"),
    });
    this.spend.addTokens(usage.totalTokens ?? 0);
  }

  addReferences({ authoredChars, resolvedChars }: Omit<ReferenceCount, "values">): void {
    const savings = this.#savings;
    this.#savings = {
      ...savings,
      authoredChars: savings.authoredChars + authoredChars,
      resolvedChars: savings.resolvedChars + resolvedChars,
    };
  }

  /** Counts the prompt of a model call. Cost: linear in it. */
  addPrompt({ prompt, tools }: Pick<LanguageModelV4CallOptions, "prompt" | "tools">): void {
    let chars = charsOfTools(tools);
    let extraChars = 0;
    for (const message of prompt) {
      chars += charsOfMessage(message);
      if (typeof message.content === "string") continue;
      for (const part of message.content) extraChars += this.#extraChars(part);
    }
    const { promptChars, inlinePromptChars, wouldNotFit = 0 } = this.#savings;
    const inline = chars + extraChars;
    const fits = inline <= this.#maxInlineChars;
    const missed = wouldNotFit + (fits ? 0 : 1);
    this.#savings = {
      ...this.#savings,
      promptChars: promptChars + chars,
      // Values that would not have fitted do not count as saved.
      inlinePromptChars:
        inlinePromptChars + (fits ? inline : Math.max(this.#maxInlineChars, chars)),
      ...(missed === 0 ? {} : { wouldNotFit: missed }),
    };
  }

  /** The additional characters if the value replaced its handle. */
  #extraChars(part: unknown): number {
    const output = outputIn(part);
    const name = variableIn(output);
    if (name === undefined || !isObject(output) || "value" in output) return 0;
    // By value, bytes would not be text: an image counts as zero characters, too.
    if (output.type === "bytes") return 0;
    // The variable may have another version by now, or be gone. The handle has the size of the version that was shown.
    const bytes = typeof output.bytes === "number" ? output.bytes : 0;
    const info = this.#store.glance(name);
    const valueChars = info?.bytes === bytes ? info.chars : bytes;
    return Math.max(valueChars - JSON.stringify(output).length, 0);
  }
}

/** Characters of the definitions as JSON. */
export function charsOfTools(tools: LanguageModelV4CallOptions["tools"] = []): number {
  return tools.length === 0 ? 0 : JSON.stringify(tools).length;
}

/** Characters of texts, and of inputs and outputs of calls as JSON. Images count as zero. */
export function charsOfMessage({ content }: LanguageModelV4Message): number {
  if (typeof content === "string") return content.length;
  return content.reduce((sum, part) => sum + charsOf(part), 0);
}

function charsOf(part: unknown): number {
  if (typeof part === "string") return part.length;
  if (!isObject(part)) return 0;
  if (typeof part.text === "string") return part.text.length;
  const output = outputIn(part);
  if (isObject(part.output) && part.output.type === "content" && Array.isArray(output))
    return output.reduce<number>((sum, item) => sum + charsOf(item), 0);
  if (output !== undefined)
    return typeof output === "string" ? output.length : JSON.stringify(output).length;
  // Mastra's results have the input of their call, too: it is not sent again.
  return "input" in part ? JSON.stringify(part.input ?? null).length : 0;
}

function outputIn(part: unknown): unknown {
  return isObject(part) && isObject(part.output) ? part.output.value : undefined;
}
