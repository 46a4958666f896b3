import type { TurnHead } from "../log/journal.ts";
import { unlessAborted } from "../../value/deadline.ts";
import { type Share, spendExceeded, type Spent, type TenantLimits } from "./spend.ts";

/** A turn's request for a part of its tenant's quota. */
export interface Claim {
  /** Identifies the conversation, the turn and its first attempt. The same after a crash. */
  readonly key: string;
  /** The day or month in ISO 8601. Empty for a limit without a period. */
  readonly window: string;
  /** Spent by the turn so far. */
  readonly spent: Spent;
  /** The planned spending, for each kind that has a limit. */
  readonly wants: readonly Want[];
}

export interface Want {
  readonly what: keyof Spent;
  readonly count: number;
  readonly maximum: number;
}

/** The amounts up to which the turn may spend in the window, or the kind that was refused. */
export type Grant =
  | { readonly upTo: Partial<Spent> }
  /** `spent`: spent by the tenant, including leases of other turns. */
  | { readonly refused: Want & { readonly spent: number } };

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
  head: TurnHead,
  spent: Spent,
): Pick<TurnHead, "lease"> {
  return leases === undefined ? {} : { lease: { key: leaseKeyOf(head), spent } };
}

export function leaseKeyOf({
  conversation,
  id,
  attempt,
  firstAttempt = attempt,
}: TurnHead): string {
  return `${conversation}/${id}/${firstAttempt}`;
}

interface LeaseOptions {
  readonly leases: QuotaService;
  readonly key: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** A turn's lease, from its start or its last wait, across crashes. */
export class Lease implements Share {
  readonly #options: LeaseOptions;
  /** Amounts up to which the turn may spend, by window and kind. */
  readonly #upTo = new Map<string, number>();
  #settled: Spent | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  has(need: Partial<Spent>, spent: Spent): boolean {
    const window = this.#window;
    return this.#wants(need).every(
      ({ what, count }) => spent[what] + count <= (this.#upTo.get(window + what) ?? 0),
    );
  }

  async more(need: Partial<Spent>, spent: Spent): Promise<void> {
    const { leases, signal } = this.#options;
    const { per } = leases.limits;
    const nowMs = this.#options.now();
    const window = windowAt(nowMs, per);
    // A stopped turn does not wait for the tenant's directory.
    const grant = await unlessAborted(
      this.#take({ window, spent, wants: this.#wants(need) }),
      signal,
    );
    if ("refused" in grant) {
      const renewal = per && { per, atMs: windowEndMs(nowMs, per) };
      throw spendExceeded("tenant", grant.refused, renewal);
    }
    for (const [what, upTo] of Object.entries(grant.upTo)) this.#upTo.set(window + what, upTo);
  }

  settle(spent: Spent): void {
    const { leases, key } = this.#options;
    this.#settled = spent;
    leases.settle({ key, spent });
  }

  async #take(claim: Omit<Claim, "key">): Promise<Grant> {
    const { leases, key } = this.#options;
    const grant = await leases.take({ ...claim, key });
    // Settles a grant that arrived after the turn stopped waiting for it.
    if (this.#settled !== undefined) this.settle(this.#settled);
    return grant;
  }

  #wants(need: Partial<Spent>): readonly Want[] {
    const { limits } = this.#options.leases;
    return (["modelCalls", "toolCalls", "tokens"] as const).flatMap((what) => {
      const [count, maximum] = [need[what], limits[what]];
      return !count || maximum === undefined ? [] : [{ what, count, maximum }];
    });
  }

  get #window(): string {
    const { now, leases } = this.#options;
    return windowAt(now(), leases.limits.per);
  }
}

/** The day or month in UTC. */
function windowAt(timeMs: number, per: TenantLimits["per"]): string {
  return per ? new Date(timeMs).toISOString().slice(0, per === "day" ? 10 : 7) : "";
}

function windowEndMs(timeMs: number, per: "day" | "month"): number {
  const time = new Date(timeMs);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return per === "day" ? Date.UTC(year, month, time.getUTCDate() + 1) : Date.UTC(year, month + 1);
}
