import type { Spent, TenantLimits } from "./spend.ts";

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

/** Where a tenant's leases are kept. Asking twice is the same as asking once. */
export interface LeaseOffice {
  readonly limits: TenantLimits;
  /** Grants all that is wanted, and some more; or nothing. Rejects where it cannot be reached. */
  take(claim: Claim): Promise<Grant>;
  /** Gives back what is left. Nobody waits for it, and it does not throw. */
  settle(settled: Pick<Claim, "key" | "spent">): void;
}
