import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider";
import * as limits from "../../limits.ts";
import type { VariableStore } from "../../store/variables.ts";
import { unlessAborted } from "../../value/deadline.ts";
import { CHARS_PER_TOKEN, variableIn } from "../../tool/tool-output.ts";
import { compact, isObject } from "../../value/json.ts";
import type { ReferenceCount } from "../../tool/wrapped-tool.ts";
import {
  NOTHING_SPENT,
  type QuotaService,
  spendExceeded,
  type SpendLimits,
  type Spent,
  sumOf,
  type Usage,
  type Want,
  windowAt,
} from "./spend.ts";

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

interface AccountOptions {
  readonly store: VariableStore;
  /** The model's context window. Default: `contextTokens`. */
  readonly contextTokens?: number | undefined;
  readonly limits?: Omit<SpendLimits, "tenant">;
  /** Spent by the turns before this one. Default: nothing. */
  readonly before?: Spent;
  /** How the turn leases from its tenant's quota. Default: there is no quota. */
  readonly lease?: Lease | undefined;
}

interface Lease {
  readonly leases: QuotaService;
  readonly key: string;
  readonly now: () => number;
  /** Ends the wait for the tenant's directory. */
  readonly signal: AbortSignal;
}

/**
 * The cost of a turn or a plan run so far, including agents called during it. Refuses operations that would exceed a
 * limit, before they run, and leases what the turn spends of its tenant's quota.
 */
export class Account {
  readonly #options: AccountOptions & { readonly before: Spent };
  readonly #maxInlineChars: number;
  #usage: Usage = {};
  #savings: Savings = { promptChars: 0, inlinePromptChars: 0, authoredChars: 0, resolvedChars: 0 };
  #spent = NOTHING_SPENT;
  /** Amounts up to which the turn may spend of the quota, by window and kind. */
  readonly #upTo = new Map<string, number>();
  #isSettled = false;

  constructor(options: AccountOptions) {
    const { contextTokens = limits.contextTokens } = options;
    this.#options = { before: NOTHING_SPENT, ...options };
    this.#maxInlineChars = contextTokens * CHARS_PER_TOKEN;
  }

  get counts(): Counts {
    return { usage: this.#usage, savings: this.#savings, spent: this.#spent };
  }

  /** Spent by the conversation, including this turn. */
  get total(): Spent {
    return sumOf(this.#options.before, this.#spent);
  }

  restore({ usage, savings, spent }: Counts): void {
    this.#usage = usage;
    this.#savings = savings;
    this.#spent = spent;
  }

  /**
   * Counts calls before they run. Rejects with `spend_exceeded` if there is no room for them, or if the quota service does
   * not respond; refused calls do not count. Waits only if the tenant's quota has to grow.
   */
  async spend(what: "modelCalls" | "toolCalls", count: number): Promise<void> {
    // The tokens of a call are known only when it is over. If it exceeds the limit, the next call is refused.
    const need = { [what]: count, ...(what === "modelCalls" && { tokens: 1 }) };
    do {
      for (const [kind, more] of entriesOf(need)) this.#require(kind, more);
      // Another call of the turn may use what is granted.
    } while (await this.#lease(need));
    this.#spent = { ...this.#spent, [what]: this.#spent[what] + count };
  }

  /** Called at the end, or when the turn begins to wait for a person. */
  settle(): void {
    const { lease } = this.#options;
    this.#isSettled = true;
    lease?.leases.settle({ key: lease.key, spent: this.#spent });
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
    const { totalTokens = 0 } = usage;
    this.#spent = { ...this.#spent, tokens: this.#spent.tokens + totalTokens };
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
    const info = this.#options.store.glance(name);
    const valueChars = info?.bytes === bytes ? info.chars : bytes;
    return Math.max(valueChars - JSON.stringify(output).length, 0);
  }

  #require(what: keyof Spent, count: number): void {
    const { limits = {}, before } = this.#options;
    const total = sumOf(before, this.#spent);
    for (const [scope, { [what]: spent }] of [
      ["turn", this.#spent],
      ["conversation", total],
    ] as const) {
      const maximum = limits[scope]?.[what];
      if (maximum !== undefined && spent + count > maximum)
        throw spendExceeded(scope, { what, maximum, spent, count });
    }
  }

  /** False if the leases have room for this. Else leases more. */
  async #lease(need: Partial<Spent>): Promise<boolean> {
    const { lease } = this.#options;
    if (lease === undefined) return false;
    const { leases, key, signal } = lease;
    const { per, ...maxima } = leases.limits;
    const nowMs = lease.now();
    const window = windowAt(nowMs, per);
    const wants = entriesOf(need).flatMap(([what, count]): readonly Want[] => {
      const maximum = maxima[what];
      return count === 0 || maximum === undefined ? [] : [{ what, count, maximum }];
    });
    const hasRoom = wants.every(
      ({ what, count }) => this.#spent[what] + count <= (this.#upTo.get(window + what) ?? 0),
    );
    if (hasRoom) return false;
    const taking = leases.take({ key, spent: this.#spent, window, wants });
    // Settles a grant that arrives after the turn stopped waiting for it.
    const taken = taking.finally(() => void (this.#isSettled && this.settle()));
    const grant = await unlessAborted(taken, signal);
    if ("refused" in grant) throw spendExceeded("tenant", grant.refused, { per, nowMs });
    for (const [what, amount] of entriesOf(grant.upTo)) this.#upTo.set(window + what, amount);
    return true;
  }
}

function entriesOf(spent: Partial<Spent>): readonly (readonly [keyof Spent, number])[] {
  const kinds = ["modelCalls", "toolCalls", "tokens"] as const;
  return kinds.flatMap((kind) => {
    const amount = spent[kind];
    return amount === undefined ? [] : [[kind, amount] as const];
  });
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
