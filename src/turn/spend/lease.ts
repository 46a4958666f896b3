import type { TurnHead } from "../log/journal.ts";
import { unlessAborted } from "../../value/deadline.ts";
import { type Share, spendExceeded, type Spent, type TenantLimits } from "./spend.ts";

/** What a turn asks for of what its tenant may spend. */
export interface Claim {
  /** Names the conversation, the turn and its first attempt: the same after a crash. */
  readonly key: string;
  /** The day or month, as ISO 8601 has it; empty if the limit is for all time. */
  readonly window: string;
  /** By the turn so far. */
  readonly spent: Spent;
  /** What it is about to spend, of what there is a limit of. */
  readonly wants: readonly Want[];
}

export interface Want {
  readonly what: keyof Spent;
  readonly count: number;
  readonly maximum: number;
}

/** Up to how much the turn may spend, in the window; or of what there is too little. */
export type Grant =
  | { readonly upTo: Partial<Spent> }
  /** `spent`: by the tenant, with what others have on lease. */
  | { readonly refused: Want & { readonly spent: number } };

/** Keeps a tenant's leases. Asking twice is the same as asking once. */
export interface QuotaService {
  readonly limits: TenantLimits;
  /** Grants all that is wanted, and some more; or nothing. Rejects if it cannot be reached. */
  take(claim: Claim): Promise<Grant>;
  /** Gives back what is left, in the background. Does not throw. */
  settle(settled: Pick<Claim, "key" | "spent">): void;
}

/** The lease of an ended turn, as its head keeps it; empty where there are no leases. */
export function leaseOf(
  { leases }: { readonly leases?: QuotaService | undefined },
  head: TurnHead,
  spent: Spent,
): Pick<TurnHead, "lease"> {
  return leases === undefined ? {} : { lease: { key: leaseKeyOf(head), spent } };
}

export function leaseKeyOf({ conversation, id, attempt, sitting = attempt }: TurnHead): string {
  return `${conversation}/${id}/${sitting}`;
}

interface LeaseOptions {
  readonly leases: QuotaService;
  readonly key: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** What a turn has on lease, from its start, or from where it last waited, through all crashes. */
export class Lease implements Share {
  readonly #options: LeaseOptions;
  /** By window and kind. */
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
    const window = this.#window;
    // Whoever stops a turn does not wait for its directory.
    const grant = await unlessAborted(
      this.#take({ window, spent, wants: this.#wants(need) }),
      signal,
    );
    if ("refused" in grant) {
      throw spendExceeded("tenant", grant.refused, leases.limits.per);
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
    // For something that the turn has not waited for.
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

  /** UTC. */
  get #window(): string {
    const { now, leases } = this.#options;
    const { per } = leases.limits;
    return per ? new Date(now()).toISOString().slice(0, per === "day" ? 10 : 7) : "";
  }
}
