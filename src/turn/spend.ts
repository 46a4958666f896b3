import { ByrefError } from "../errors.ts";

/** What costs money or does harm when it runs away. */
export interface Spent {
  readonly modelCalls: number;
  readonly toolCalls: number;
  /** As far as the provider tells them. */
  readonly tokens: number;
}

/** How much a turn, and a conversation in all of its turns, may spend. Default: no limit. */
export interface SpendLimits {
  readonly turn?: Partial<Spent>;
  readonly conversation?: Partial<Spent>;
}

export const NOTHING_SPENT: Spent = { modelCalls: 0, toolCalls: 0, tokens: 0 };

const WHAT: Readonly<Record<keyof Spent, string>> = {
  modelCalls: "calls of the model",
  toolCalls: "calls of tools",
  tokens: "tokens",
};

/** Counts what a turn spends, and refuses what would be too much, before it happens. */
export class Spend {
  readonly #limits: SpendLimits;
  /** By the turns before this one. */
  readonly #before: Spent;
  #turn: Spent = NOTHING_SPENT;

  constructor(limits: SpendLimits, before: Spent) {
    this.#limits = limits;
    this.#before = before;
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

  /** Throws `spend_exceeded` if there is no room for it. Calls that are not made need not be paid. */
  add(what: "modelCalls" | "toolCalls", count: number): void {
    this.#require(what, count);
    // How many tokens a call takes is known when it is over: the next one is refused.
    if (what === "modelCalls") this.#require("tokens", 1);
    this.#turn = { ...this.#turn, [what]: this.#turn[what] + count };
  }

  addTokens(tokens: number): void {
    this.#turn = { ...this.#turn, tokens: this.#turn.tokens + tokens };
  }

  #require(what: keyof Spent, count: number): void {
    const { turn = {}, conversation = {} } = this.#limits;
    requireRoom(`turn.${what}`, { maximum: turn[what], spent: this.#turn[what], count });
    requireRoom(`conversation.${what}`, {
      maximum: conversation[what],
      spent: this.total[what],
      count,
    });
  }
}

function requireRoom(
  limit: string,
  { maximum, spent, count }: { maximum: number | undefined; spent: number; count: number },
): void {
  if (maximum === undefined || spent + count <= maximum) return;
  const [scope, what] = limit.split(".") as ["turn" | "conversation", keyof Spent];
  const message = `This ${scope} may spend ${maximum} ${WHAT[what]}, and has spent ${spent}.`;
  throw new ByrefError("spend_exceeded", message, { limit, maximum, actual: spent + count });
}

/** What a conversation has spent, a turn included that waits for a person. */
export function spentBefore(
  last: { readonly spent: Spent; readonly counts?: { readonly spent: Spent } } | undefined,
): Spent {
  if (last === undefined) return NOTHING_SPENT;
  return last.counts === undefined ? last.spent : sumOf(last.spent, last.counts.spent);
}

export function sumOf(some: Spent, more: Spent): Spent {
  return {
    modelCalls: some.modelCalls + more.modelCalls,
    toolCalls: some.toolCalls + more.toolCalls,
    tokens: some.tokens + more.tokens,
  };
}
