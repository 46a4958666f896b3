import type { LanguageModelUsage } from "ai";
import { ByrefError } from "../../errors.ts";
import type { VariableStore } from "../../store/variable-store.ts";
import { type Savings, SavingsCounter } from "./savings.ts";

/** What costs money or does harm when it runs away. */
export interface Spent {
  readonly modelCalls: number;
  readonly toolCalls: number;
  /** As far as the provider tells them. */
  readonly tokens: number;
}

/** Tokens of a turn, as far as the provider reports them. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** What a piece of work cost in SQLite, as the platform bills it. */
export interface Cost {
  readonly rowsRead: number;
  /** Includes the alarms that were set. */
  readonly rowsWritten: number;
  readonly alarms: number;
}

/** How much a turn, a conversation in all of its turns, and a tenant may spend. Default: no limit. */
export interface SpendLimits {
  readonly turn?: Partial<Spent>;
  readonly conversation?: Partial<Spent>;
  /** All conversations of a tenant together, each UTC day or month; without `per`: in all. */
  readonly tenant?: TenantLimits;
}

export interface TenantLimits extends Partial<Spent> {
  readonly per?: "day" | "month";
}

/** What a turn has of what its tenant may spend. */
export interface Share {
  /** Is there room for it beside what the turn has spent? */
  has(need: Partial<Spent>, spent: Spent): boolean;
  /** Gets room for it. Rejects with `spend_exceeded` if there is none, and where nobody can say. */
  more(need: Partial<Spent>, spent: Spent): Promise<void>;
  /** Gives back what the turn has not spent. */
  settle(spent: Spent): void;
}

export const NOTHING_SPENT: Spent = { modelCalls: 0, toolCalls: 0, tokens: 0 };

const WHAT: Readonly<Record<keyof Spent, string>> = {
  modelCalls: "calls of the model",
  toolCalls: "calls of tools",
  tokens: "tokens",
};

/** Counts what a turn spends, and refuses what would be too much, before it happens. */
export class Spend {
  readonly #limits: Omit<SpendLimits, "tenant">;
  /** By the turns before this one. */
  readonly #before: Spent;
  readonly #share: Share | undefined;
  #turn: Spent = NOTHING_SPENT;

  constructor(limits: Omit<SpendLimits, "tenant">, before: Spent, share?: Share) {
    this.#limits = limits;
    this.#before = before;
    this.#share = share;
  }

  get turn(): Spent {
    return this.#turn;
  }

  /** Counts on from there. */
  restore(turn: Spent): void {
    this.#turn = turn;
  }

  /** By the conversation, this turn included. */
  get total(): Spent {
    return sumOf(this.#before, this.#turn);
  }

  /**
   * Rejects with `spend_exceeded` if there is no room for it. Calls that are not made need not be paid. Waits
   * only where the tenant's quota has to be asked for more.
   */
  async add(what: "modelCalls" | "toolCalls", count: number): Promise<void> {
    const need = { [what]: count, tokens: what === "modelCalls" ? 1 : 0 };
    for (;;) {
      this.#require(what, count);
      // How many tokens a call takes is known when it is over: the next one is refused.
      if (what === "modelCalls") this.#require("tokens", 1);
      if (this.#share?.has(need, this.#turn) !== false) break;
      await this.#share.more(need, this.#turn);
      // Another call of the turn may have taken it meanwhile.
    }
    this.#turn = { ...this.#turn, [what]: this.#turn[what] + count };
  }

  /** At the end, or where the turn begins to wait for a person. */
  settle(): void {
    this.#share?.settle(this.#turn);
  }

  addTokens(tokens: number): void {
    this.#turn = { ...this.#turn, tokens: this.#turn.tokens + tokens };
  }

  #require(what: keyof Spent, count: number): void {
    const spent = { turn: this.#turn[what], conversation: this.total[what] };
    for (const scope of ["turn", "conversation"] as const) {
      const maximum = this.#limits[scope]?.[what];
      if (maximum === undefined || spent[scope] + count <= maximum) continue;
      throw spendExceeded(scope, { what, maximum, spent: spent[scope], count });
    }
  }
}

/** What a turn, or a plan run, has cost so far, with the agents that were asked in the middle of it. */
export class Account {
  readonly savings: SavingsCounter;
  readonly spend: Spend;
  #usage: Usage = {};

  constructor(store: VariableStore, spend: Spend) {
    this.savings = new SavingsCounter(store);
    this.spend = spend;
  }

  get usage(): Usage {
    return this.#usage;
  }

  get counts(): Counts {
    return { usage: this.#usage, savings: this.savings.savings, spent: this.spend.turn };
  }

  /** One call of a model, as far as its provider reported it. */
  addCall(usage: LanguageModelUsage | undefined): void {
    this.#usage = addUsage(this.#usage, usage);
    this.spend.addTokens(usage?.totalTokens ?? 0);
  }

  /** Counts on from there. */
  restore({ usage, savings, spent }: Counts): void {
    this.#usage = usage;
    this.savings.restore(savings);
    this.spend.restore(spent);
  }
}

/** What an account has counted. */
export interface Counts {
  readonly usage: Usage;
  readonly savings: Savings;
  readonly spent: Spent;
}

/** The sum; a number that was never reported stays absent. */
function addUsage(sum: Usage, more: LanguageModelUsage | undefined): Usage {
  const add = (key: keyof Usage) => {
    const total = (sum[key] ?? 0) + (more?.[key] ?? 0);
    return sum[key] === undefined && more?.[key] === undefined ? {} : { [key]: total };
  };
  return { ...add("inputTokens"), ...add("outputTokens"), ...add("totalTokens") };
}

interface Excess {
  readonly what: keyof Spent;
  readonly maximum: number;
  readonly spent: number;
  readonly count: number;
}

/** `per`: the day or month in which so much may be spent. */
export function spendExceeded(
  scope: keyof SpendLimits,
  { what, maximum, spent, count }: Excess,
  per?: string,
): ByrefError {
  const each = per === undefined ? "" : ` a ${per}`;
  const message = `This ${scope} may spend ${maximum} ${WHAT[what]}${each}, and has spent ${spent}.`;
  const limit = `${scope}.${what}`;
  return new ByrefError("spend_exceeded", message, { limit, maximum, actual: spent + count });
}

/** What a conversation has spent, a turn included that waits for a person. */
export function spentBefore(
  last: { readonly spent: Spent; readonly counts?: { readonly spent: Spent } } | undefined,
): Spent {
  if (last === undefined) return NOTHING_SPENT;
  return last.counts === undefined ? last.spent : sumOf(last.spent, last.counts.spent);
}

function sumOf(some: Spent, more: Spent): Spent {
  return {
    modelCalls: some.modelCalls + more.modelCalls,
    toolCalls: some.toolCalls + more.toolCalls,
    tokens: some.tokens + more.tokens,
  };
}

/** What was spent between two readings. */
export function costSince(before: Cost, after: Cost): Cost {
  return {
    rowsRead: after.rowsRead - before.rowsRead,
    rowsWritten: after.rowsWritten - before.rowsWritten,
    alarms: after.alarms - before.alarms,
  };
}
