import { TenantSpend } from "../../src/edge/directory/tenant-spend.ts";
import type {
  Claim,
  Grant,
  QuotaService,
  Spent,
  TenantLimits,
} from "../../src/turn/spend/spend.ts";
import { NodeSql } from "./node-sql.ts";

/** A tenant's leases in memory, managed as in its directory. */
export class MemoryLeases implements QuotaService {
  readonly limits: TenantLimits;
  readonly claims: Claim[] = [];
  /** True if settlements are lost. */
  losesSettling = false;
  readonly #sql = new NodeSql();
  readonly #spend = new TenantSpend(this.#sql);

  constructor(limits: TenantLimits) {
    this.limits = limits;
  }

  async take(claim: Claim): Promise<Grant> {
    this.claims.push(claim);
    return this.#spend.take(claim);
  }

  settle(settled: Pick<Claim, "key" | "spent">): void {
    if (!this.losesSettling) this.#spend.settle(settled);
  }

  /** Amount used by all turns, including leases. */
  used(what: keyof Spent, window = ""): number {
    return this.rows.find((row) => row.key === "" && row.window === window && row.what === what)
      ?.amount as number;
  }

  /** Keys with an open lease. */
  get open(): readonly string[] {
    return [...new Set(this.rows.flatMap(({ key }) => (key === "" ? [] : String(key))))];
  }

  get rows() {
    return this.#sql.all(`SELECT * FROM spend`);
  }
}
