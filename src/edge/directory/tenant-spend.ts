import * as limits from "../../limits.ts";
import { firstRow, numberIn, type Sql, textIn } from "../../store/rows/sql.ts";
import type { Claim, Grant, QuotaService, Spent } from "../../turn/spend/spend.ts";

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
    this.#sql.transaction(() => this.#settle(key, spent));
  }

  /** `before`: only the leases of earlier windows. */
  #settle(key: string, spent: Spent, before = "~"): void {
    for (const row of this.#sql.all(
      `SELECT * FROM spend WHERE key = ? AND window < ?`,
      key,
      before,
    )) {
      // `#set` wrote it.
      const what = textIn(row, "what") as keyof Spent;
      const all = [ALL, textIn(row, "window"), what] as const;
      this.#set(all, (this.#get(all) ?? 0) + spent[what] - numberIn(row, "amount"));
    }
    this.#sql.run(`DELETE FROM spend WHERE key = ? AND window < ?`, key, before);
  }

  /** Grants the whole claim, or nothing. */
  #take({ key, window, spent, wants }: Claim): Grant {
    // What a turn spends from now on is not of the last day.
    this.#settle(key, spent, window);
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
      const more = missing > 0 ? moreFor(what, { missing, free, spent: spent[what] }) : 0;
      return { what, isRefused, refused, grant, more };
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
   * Deletes the leases of past windows, except the last one, in which recent turns may still claim. The totals of a
   * hundred windows stay: a clock that was ahead and is set back would otherwise get the whole limit again.
   */
  #begin(window: string): number {
    const isBefore = (bound: string) => `length(window) = length(?1) AND window < ${bound}`;
    const last = `(SELECT max(window) FROM spend WHERE ${isBefore("?1")})`;
    this.#sql.run(`DELETE FROM spend WHERE key <> '${ALL}' AND ${isBefore(last)}`, window);
    const oldest = `(SELECT DISTINCT window FROM spend WHERE length(window) = length(?1)
      ORDER BY window DESC LIMIT 1 OFFSET ${KEPT_WINDOWS})`;
    this.#sql.run(`DELETE FROM spend WHERE ${isBefore(oldest)}`, window);
    return 0;
  }
}

const KEPT_WINDOWS = 100;

/** Identifies a lease, or the tenant's total. */
type Place = readonly [key: string, window: string, what: keyof Spent];

/** The key of the tenant's total; no lease has it. */
const ALL = "";

/**
 * The grant beyond the lease: what is missing, and a reserve. The reserve for calls is at most what the turn has spent
 * so far, and a share of the free amount: a burst of short turns then spends the limit to the last call, instead of
 * holding most of it unspent. For tokens it is the whole free amount: a call may use more than its lease, and with
 * small leases more calls would begin near the limit and exceed it.
 */
function moreFor(
  what: keyof Spent,
  { missing, free, spent }: { missing: number; free: number; spent: number },
): number {
  const most = what === "tokens" ? free : Math.min(missing + spent, Math.floor(free / LEASE_SHARE));
  return Math.max(missing, Math.min(limits.lease[what], most));
}

/** A lease takes at most this share of the calls that are left, and one call near the end. */
const LEASE_SHARE = 64;

const TABLE = `CREATE TABLE IF NOT EXISTS spend (
  key TEXT, window TEXT, what TEXT, amount INTEGER NOT NULL, PRIMARY KEY (key, window, what)
) WITHOUT ROWID`;
