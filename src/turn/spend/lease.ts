import type { Claim, Grant, LeaseOffice, Want } from "./lease-office.ts";
import type { TurnHead } from "../log/journal.ts";
import { type Share, Spend, spendExceeded, type Spent } from "./spend.ts";
import type { TurnOptions } from "../turn-options.ts";
import { unlessAborted } from "../unless-aborted.ts";

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
