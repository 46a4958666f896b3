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

/** The key of a turn's lease, from its start or its last wait, across crashes. */
export function leaseKeyOf(turn: {
  readonly conversation: string;
  readonly id: string;
  readonly attempt: number;
  readonly firstAttempt?: number;
}): string {
  const { conversation, id, attempt, firstAttempt = attempt } = turn;
  return `${conversation}/${id}/${firstAttempt}`;
}

function windowAt(timeMs: number, per: TenantLimits["per"]): string {
  return per ? new Date(timeMs).toISOString().slice(0, per === "day" ? 10 : 7) : "";
}

function windowEndMs(timeMs: number, per: "day" | "month"): number {
  const time = new Date(timeMs);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return per === "day" ? Date.UTC(year, month, time.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

interface SpendOptions {
  readonly limits: Omit<SpendLimits, "tenant">;
  /** Spent by the turns before this one. */
  readonly before: Spent;
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
 * Counts a turn's spending, and refuses operations that would exceed a limit, before they run. Leases what the turn
 * spends of its tenant's quota.
 */
export class Spend {
  readonly #options: SpendOptions;
  /** Amounts up to which the turn may spend of the quota, by window and kind. */
  readonly #upTo = new Map<string, number>();
  #isSettled = false;
  /** Spent by this turn so far. A turn that continues sets it. */
  turn: Spent = NOTHING_SPENT;

  constructor(options: SpendOptions) {
    this.#options = options;
  }

  /** Spent by the conversation, including this turn. */
  get total(): Spent {
    return sumOf(this.#options.before, this.turn);
  }

  /**
   * Counts calls before they run. Rejects with `spend_exceeded` if there is no room for them, or if the quota service does
   * not respond; refused calls do not count. Waits only if the tenant's quota has to grow.
   */
  async add(what: "modelCalls" | "toolCalls", count: number): Promise<void> {
    // The tokens of a call are known only when it is over. If it exceeds the limit, the next call is refused.
    const need = { [what]: count, ...(what === "modelCalls" && { tokens: 1 }) };
    do {
      for (const [kind, more] of entriesOf(need)) this.#require(kind, more);
      // Another call of the turn may use what is granted.
    } while (await this.#lease(need));
    this.turn = { ...this.turn, [what]: this.turn[what] + count };
  }

  /** Called at the end, or when the turn begins to wait for a person. */
  settle(): void {
    const { lease } = this.#options;
    this.#isSettled = true;
    lease?.leases.settle({ key: lease.key, spent: this.turn });
  }

  addTokens(tokens: number): void {
    this.turn = { ...this.turn, tokens: this.turn.tokens + tokens };
  }

  #require(what: keyof Spent, count: number): void {
    const { limits } = this.#options;
    for (const [scope, { [what]: spent }] of [
      ["turn", this.turn],
      ["conversation", this.total],
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
      ({ what, count }) => this.turn[what] + count <= (this.#upTo.get(window + what) ?? 0),
    );
    if (hasRoom) return false;
    const taking = leases.take({ key, spent: this.turn, window, wants });
    // Settles a grant that arrives after the turn stopped waiting for it.
    const taken = taking.finally(() => void (this.#isSettled && this.settle()));
    const grant = await unlessAborted(taken, signal);
    if ("refused" in grant) {
      const renewal = per && { per, atMs: windowEndMs(nowMs, per) };
      throw spendExceeded("tenant", grant.refused, renewal);
    }
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
