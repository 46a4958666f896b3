import * as limits from "../../limits.ts";
import { firstRow, numberIn, type Sql, textIn } from "../../store/rows/sql.ts";
import type { Claim, Grant, QuotaService } from "../../turn/spend/lease.ts";
import type { Spent } from "../../turn/spend/spend.ts";

/**
 * A tenant's spend, and the leases of its turns. A lease counts as spent until it is settled, so the total granted
 * never exceeds the limit; tokens may exceed it by the usage of calls in progress when the limit is reached. A
 * lease that is never settled counts as spent until its window ends. The first claim creates the table.
 */
export class TenantSpend {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  take(claim: Claim): Grant {
    this.#sql.run(TABLE);
    return this.#sql.transaction(() => this.#take(claim));
  }

  settle({ key, spent }: Parameters<QuotaService["settle"]>[0]): void {
    this.#sql.run(TABLE);
    this.#sql.transaction(() => {
      for (const row of this.#sql.all(`SELECT * FROM spend WHERE key = ?`, key)) {
        // `#set` wrote it.
        const what = textIn(row, "what") as keyof Spent;
        const all = [ALL, textIn(row, "window"), what] as const;
        this.#set(all, (this.#get(all) ?? 0) + spent[what] - numberIn(row, "amount"));
      }
      this.#sql.run(`DELETE FROM spend WHERE key = ?`, key);
    });
  }

  /** Grants the whole claim, or nothing. */
  #take({ key, window, spent, wants }: Claim): Grant {
    const checks = wants.map(({ what, count, maximum }) => {
      const all = [ALL, window, what] as const;
      const lease = [key, window, what] as const;
      const leased = this.#get(lease) ?? spent[what];
      const upTo = Math.max(leased, spent[what]);
      const used = (this.#get(all) ?? this.#begin(window)) + upTo - leased;
      const grant = (more: number) => {
        this.#set(all, used + more);
        this.#set(lease, upTo + more);
        return upTo + more;
      };
      const free = maximum - used;
      const missing = spent[what] + count - upTo;
      const isRefused = missing > Math.max(free, 0);
      // The unspent part of the turn's own lease does not count.
      const refused = { what, count, maximum, spent: used - upTo + spent[what] };
      return { what, isRefused, refused, grant, more: moreFor(what, missing, free) };
    });
    const refused = checks.find(({ isRefused }) => isRefused)?.refused;
    const upTo = checks.map(({ what, grant, more }) => [what, grant(refused ? 0 : more)]);
    return refused ? { refused } : { upTo: Object.fromEntries(upTo) as Partial<Spent> };
  }

  #get(place: Place): number | undefined {
    const select = `SELECT amount FROM spend WHERE key = ? AND window = ? AND what = ?`;
    const row = firstRow(this.#sql, select, ...place);
    return row && numberIn(row, "amount");
  }

  #set(place: Place, amount: number): void {
    this.#sql.run(`REPLACE INTO spend VALUES (?, ?, ?, ?)`, ...place, amount);
  }

  /**
   * Deletes past windows, except the last one: recent turns may still claim in it, and would get the whole
   * limit again without its rows.
   */
  #begin(window: string): number {
    const isBefore = (bound: string) => `length(window) = length(?1) AND window < ${bound}`;
    const last = `(SELECT max(window) FROM spend WHERE ${isBefore("?1")})`;
    this.#sql.run(`DELETE FROM spend WHERE ${isBefore(last)}`, window);
    return 0;
  }
}

/** Identifies a lease, or the tenant's total. */
type Place = readonly [key: string, window: string, what: keyof Spent];

/** The key of the tenant's total; no lease has it. */
const ALL = "";

/**
 * The grant beyond the lease. It is a share of the free amount, so that other turns get some too. For tokens
 * it is the whole free amount: a call may use more than its lease, and with small leases more calls would
 * begin near the limit and exceed it.
 */
function moreFor(what: keyof Spent, missing: number, free: number): number {
  const share = what === "tokens" ? free : Math.ceil(free / limits.leaseShare);
  return missing > 0 ? Math.max(missing, Math.min(limits.lease[what], share)) : 0;
}

const TABLE = `CREATE TABLE IF NOT EXISTS spend (
  key TEXT, window TEXT, what TEXT, amount INTEGER NOT NULL, PRIMARY KEY (key, window, what)
) WITHOUT ROWID`;
