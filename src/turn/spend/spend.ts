import { ByrefError } from "../../errors.ts";
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
  /** Of `windowAt`. */
  readonly window: string;
  readonly spent: Spent;
  /** The planned spending, for each kind that has a limit. */
  readonly wants: readonly Want[];
}

export interface Want {
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

/** The day or month in ISO 8601. Empty for a limit without a period. */
export function windowAt(timeMs: number, per: TenantLimits["per"]): string {
  return per ? new Date(timeMs).toISOString().slice(0, per === "day" ? 10 : 7) : "";
}

function windowEndMs(timeMs: number, per: "day" | "month"): number {
  const time = new Date(timeMs);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return per === "day" ? Date.UTC(year, month, time.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** `per`: the period of a tenant's limit, which `nowMs` is in. */
export function spendExceeded(
  scope: keyof SpendLimits,
  { what, maximum, spent, count }: Excess,
  { per, nowMs = 0 }: { readonly per?: TenantLimits["per"]; readonly nowMs?: number } = {},
): ByrefError {
  const each = per === undefined ? "" : ` a ${per}`;
  const message = `This ${scope} may spend ${maximum} ${WHAT[what]}${each}, and has spent ${spent}.`;
  const limit = `${scope}.${what}`;
  const renewsAt = per && new Date(windowEndMs(nowMs, per)).toISOString();
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

export function sumOf(some: Spent, more: Spent): Spent {
  return {
    modelCalls: some.modelCalls + more.modelCalls,
    toolCalls: some.toolCalls + more.toolCalls,
    tokens: some.tokens + more.tokens,
  };
}
