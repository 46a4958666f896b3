import { ByrefError } from "../../errors.ts";
import { unlessAborted } from "../../value/deadline.ts";
import { compact } from "../../value/json.ts";

/** Quantities that limits apply to, because they cost money or cause harm when they grow out of control. */
export interface Spent {
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly tokens: number;
}

/** Tokens of a turn, as far as the provider reports them. */
export interface Usage {
  readonly inputTokens?: number;
  /** Part of `inputTokens` that was read from the provider's cache. */
  readonly cachedInputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** Cost of an operation in SQLite, as billed by the platform. */
export interface Cost {
  readonly rowsRead: number;
  /** Includes alarms that were set. */
  readonly rowsWritten: number;
  readonly alarms: number;
}

/** Spending limits of a turn, of a conversation over all its turns, and of a tenant. Default: no limit. */
export interface SpendLimits {
  readonly turn?: Partial<Spent>;
  readonly conversation?: Partial<Spent>;
  /** All conversations of a tenant together, per UTC day or month. Without `per`: in total. */
  readonly tenant?: TenantLimits;
}

export interface TenantLimits extends Partial<Spent> {
  readonly per?: "day" | "month";
}

export const NOTHING_SPENT: Spent = { modelCalls: 0, toolCalls: 0, tokens: 0 };

const WHAT: Readonly<Record<keyof Spent, string>> = {
  modelCalls: "calls of the model",
  toolCalls: "calls of tools",
  tokens: "tokens",
};

/** A turn's request for a part of its tenant's quota. */
export interface Claim {
  /** Identifies the conversation, the turn and its first attempt. The same after a crash. */
  readonly key: string;
  /** The day or month in ISO 8601. Empty for a limit without a period. */
  readonly window: string;
  readonly spent: Spent;
  /** The planned spending, for each kind that has a limit. */
  readonly wants: readonly Want[];
}

interface Want {
  readonly what: keyof Spent;
  readonly count: number;
  readonly maximum: number;
}

interface Excess extends Want {
  /** Spent so far: by a tenant including the leases of other turns. */
  readonly spent: number;
}

/** The amounts up to which the turn may spend in the window, or the kind that was refused. */
export type Grant = { readonly upTo: Partial<Spent> } | { readonly refused: Excess };

/** Manages a tenant's leases. Repeating a request has no further effect. */
export interface QuotaService {
  readonly limits: TenantLimits;
  /** Grants everything requested plus a reserve, or nothing. Rejects if the service cannot be reached. */
  take(claim: Claim): Promise<Grant>;
  /** Returns the unused rest in the background. Does not throw. */
  settle(settled: Pick<Claim, "key" | "spent">): void;
}

/** The lease of an ended turn, as stored in its head. Empty without leases. */
export function leaseOf(
  { leases }: { readonly leases?: QuotaService | undefined },
  head: LeaseHolder,
  spent: Spent,
): { readonly lease?: Pick<Claim, "key" | "spent"> } {
  return leases === undefined ? {} : { lease: { key: leaseKeyOf(head), spent } };
}

interface LeaseHolder {
  readonly conversation: string;
  readonly id: string;
  readonly attempt: number;
  readonly firstAttempt?: number;
}

export function leaseKeyOf(turn: LeaseHolder): string {
  const { conversation, id, attempt, firstAttempt = attempt } = turn;
  return `${conversation}/${id}/${firstAttempt}`;
}

/**
 * Opens a turn's lease, from its start or its last wait, across crashes. Stopping the turn ends its wait for the tenant's
 * directory.
 */
export function openLease(
  leases: QuotaService,
  key: string,
  now: () => number,
  signal: AbortSignal,
) {
  const { per, ...limits } = leases.limits;
  /** Amounts up to which the turn may spend, by window and kind. */
  const upTo = new Map<string, number>();
  let settled: Spent | undefined;
  const wantsOf = (need: Partial<Spent>): readonly Want[] =>
    (["modelCalls", "toolCalls", "tokens"] as const).flatMap((what) => {
      const [count, maximum] = [need[what], limits[what]];
      return !count || maximum === undefined ? [] : [{ what, count, maximum }];
    });
  const settle = (spent: Spent) => {
    settled = spent;
    leases.settle({ key, spent });
  };
  return {
    /** True if there is room for `need` in addition to `spent`. */
    has(need: Partial<Spent>, spent: Spent): boolean {
      const window = windowAt(now(), per);
      return wantsOf(need).every(
        ({ what, count }) => spent[what] + count <= (upTo.get(window + what) ?? 0),
      );
    },

    /** Requests more room. Rejects with `spend_exceeded` if there is none, or if the quota service does not respond. */
    async more(need: Partial<Spent>, spent: Spent): Promise<void> {
      const nowMs = now();
      const window = windowAt(nowMs, per);
      const taking = leases.take({ key, window, spent, wants: wantsOf(need) });
      // Settles a grant that arrives after the turn stopped waiting for it.
      const taken = taking.finally(() => settled && settle(settled));
      const grant = await unlessAborted(taken, signal);
      if ("refused" in grant) {
        const renewal = per && { per, atMs: windowEndMs(nowMs, per) };
        throw spendExceeded("tenant", grant.refused, renewal);
      }
      for (const [what, amount] of Object.entries(grant.upTo)) upTo.set(window + what, amount);
    },

    settle,
  };
}

function windowAt(timeMs: number, per: TenantLimits["per"]): string {
  return per ? new Date(timeMs).toISOString().slice(0, per === "day" ? 10 : 7) : "";
}

function windowEndMs(timeMs: number, per: "day" | "month"): number {
  const time = new Date(timeMs);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return per === "day" ? Date.UTC(year, month, time.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** Counts a turn's spending, and refuses operations that would exceed a limit, before they run. */
export class Spend {
  readonly #limits: Omit<SpendLimits, "tenant">;
  /** Spent by the turns before this one. */
  readonly #before: Spent;
  readonly #lease: ReturnType<typeof openLease> | undefined;
  /** Spent by this turn so far. A turn that continues sets it. */
  turn: Spent = NOTHING_SPENT;

  constructor(
    limits: Omit<SpendLimits, "tenant">,
    before: Spent,
    lease?: ReturnType<typeof openLease>,
  ) {
    this.#limits = limits;
    this.#before = before;
    this.#lease = lease;
  }

  /** Spent by the conversation, including this turn. */
  get total(): Spent {
    return sumOf(this.#before, this.turn);
  }

  /**
   * Counts calls before they run. Rejects with `spend_exceeded` if there is no room for them; refused calls
   * do not count. Waits only if the tenant's quota has to grow.
   */
  async add(what: "modelCalls" | "toolCalls", count: number): Promise<void> {
    const need = { [what]: count, tokens: what === "modelCalls" ? 1 : 0 };
    for (;;) {
      this.#require(what, count);
      // The tokens of a call are known only when it is over. If it exceeds the limit, the next call is
      // refused.
      if (what === "modelCalls") this.#require("tokens", 1);
      if (this.#lease?.has(need, this.turn) !== false) break;
      await this.#lease.more(need, this.turn);
      // Another call of the turn may have used it meanwhile.
    }
    this.turn = { ...this.turn, [what]: this.turn[what] + count };
  }

  /** Called at the end, or when the turn begins to wait for a person. */
  settle(): void {
    this.#lease?.settle(this.turn);
  }

  addTokens(tokens: number): void {
    this.turn = { ...this.turn, tokens: this.turn.tokens + tokens };
  }

  #require(what: keyof Spent, count: number): void {
    const spent = { turn: this.turn[what], conversation: this.total[what] };
    for (const scope of ["turn", "conversation"] as const) {
      const maximum = this.#limits[scope]?.[what];
      if (maximum === undefined || spent[scope] + count <= maximum) continue;
      throw spendExceeded(scope, { what, maximum, spent: spent[scope], count });
    }
  }
}

/** `renewal`: the period of the limit, and the time in milliseconds since 1970 when the next one begins. */
function spendExceeded(
  scope: keyof SpendLimits,
  { what, maximum, spent, count }: Excess,
  renewal?: { readonly per: string; readonly atMs: number },
): ByrefError {
  const each = renewal === undefined ? "" : ` a ${renewal.per}`;
  const message = `This ${scope} may spend ${maximum} ${WHAT[what]}${each}, and has spent ${spent}.`;
  const limit = `${scope}.${what}`;
  const renewsAt = renewal && new Date(renewal.atMs).toISOString();
  const details = { limit, maximum, actual: spent + count, ...compact({ renewsAt }) };
  return new ByrefError("spend_exceeded", message, details);
}

/** The conversation's spending, including that of a waiting turn. */
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
