import type { TurnHead } from "../log/journal.ts";
import { type Share, Spend, spendExceeded, type Spent, type TenantLimits } from "./spend.ts";
import type { TurnOptions } from "../turn-options.ts";
import { unlessAborted } from "../unless-aborted.ts";

/** What a turn asks for of its tenant's. */
export interface Claim {
  /** Of the conversation, the turn and its sitting: the same after a crash. */
  readonly key: string;
  /** The day or month, as ISO 8601 has it; empty if it is spent in all. */
  readonly window: string;
  /** By the turn so far. */
  readonly spent: Spent;
  /** What it is about to spend, of what there is a limit of. */
  readonly wants: readonly Want[];
}

interface Want {
  readonly what: keyof Spent;
  readonly count: number;
  readonly maximum: number;
}

/** Up to how much the turn may spend, in the window; or of what there is too little. */
export type Grant =
  | { readonly upTo: Partial<Spent> }
  /** `spent`: by the tenant, with what others have on lease. */
  | { readonly refused: Want & { readonly spent: number } };

/** Where a tenant's leases are kept. Asking twice is the same as asking once. */
export interface LeaseOffice {
  readonly limits: TenantLimits;
  /** Grants all that is wanted, and some more; or nothing. Rejects where it cannot be reached. */
  take(claim: Claim): Promise<Grant>;
  /** Gives back what is left. Nobody waits for it, and it does not throw. */
  settle(settled: Pick<Claim, "key" | "spent">): void;
}

/** Counts what a turn, or a run, spends. */
export function spendFor(options: TurnOptions, head: TurnHead): Spend {
  const { spendLimits = {}, leases, now, signal } = options;
  if (leases === undefined) return new Spend(spendLimits, head.spent);
  const key = keyOf(head);
  return new Spend(spendLimits, head.spent, new Lease({ key, leases, now, signal }));
}

/** The lease of an ended turn, as its head keeps it; empty where there are no leases. */
export function leaseOf(
  { leases }: Pick<TurnOptions, "leases">,
  head: TurnHead,
  spent: Spent,
): Pick<TurnHead, "lease"> {
  return leases === undefined ? {} : { lease: { key: keyOf(head), spent } };
}

function keyOf({ conversation, id, attempt, sitting = attempt }: TurnHead): string {
  return `${conversation}/${id}/${sitting}`;
}

interface LeaseOptions extends Pick<TurnOptions, "now" | "signal"> {
  readonly leases: LeaseOffice;
  readonly key: string;
}

/** What one sitting of a turn has on lease. */
class Lease implements Share {
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
