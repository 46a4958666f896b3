import { firstRow, hasTable, numberIn, numberOf, type Sql, textIn } from "../../store/rows/sql.ts";

/** How far the deletion of a tenant's conversations is. */
export interface DeletionProgress {
  /** In milliseconds since 1970. */
  readonly startedMs: number;
  readonly deleted: number;
  readonly remaining: number;
}

/** A conversation to delete if it began by then. */
export interface Doomed {
  readonly id: string;
  readonly beforeMs: number;
}

/**
 * The conversations that a tenant's deletion has not reached yet. It covers what began before it, also
 * conversations whose entry arrives later, so its row stays. The first deletion creates the tables.
 */
export class TenantDeletion {
  readonly #sql: Sql;
  /** -Infinity without a deletion; undefined until it is read. */
  #beforeMs: number | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Moves all entries of the index to the deletion. One that goes on covers the new ones too. */
  begin(tenant: string, nowMs: number): void {
    this.#sql.transaction(() => {
      this.#sql.run(DELETION);
      this.#sql.run(DOOMED);
      const before = this.progress;
      if (hasTable(this.#sql, "entry")) {
        // An entry of the future was written before the clock was set back.
        this.#sql.run(
          `REPLACE INTO doomed SELECT id, max(?, created_at, updated_at) FROM entry`,
          nowMs,
        );
        this.#sql.run(`DELETE FROM entry`);
      }
      const goesOn = before !== undefined && before.remaining > 0;
      const { startedMs, deleted } = goesOn ? before : { startedMs: nowMs, deleted: 0 };
      this.#sql.run(
        `REPLACE INTO deletion
         SELECT 1, ?, max(?, coalesce((SELECT before FROM deletion), 0)), ?, ?, count(*), '' FROM doomed`,
        tenant,
        nowMs,
        startedMs,
        deleted,
      );
    });
    this.#beforeMs = undefined;
  }

  /** Undefined before the first deletion. */
  get progress(): DeletionProgress | undefined {
    if (!hasTable(this.#sql, "deletion")) return undefined;
    const row = firstRow(this.#sql, `SELECT started, deleted, remaining FROM deletion`);
    return (
      row && {
        startedMs: numberIn(row, "started"),
        deleted: numberIn(row, "deleted"),
        remaining: numberIn(row, "remaining"),
      }
    );
  }

  /**
   * True for a conversation that began before a deletion. If the clock was set back since, none is known to be older:
   * then no entry that arrives later is covered any more.
   */
  covers(bornMs: number, nowMs: number): boolean {
    this.#beforeMs ??= hasTable(this.#sql, "deletion")
      ? numberOf(this.#sql, `SELECT before FROM deletion`)
      : -Infinity;
    if (this.#beforeMs > nowMs) {
      this.#sql.run(`UPDATE deletion SET before = 0`);
      this.#beforeMs = 0;
    }
    return bornMs <= this.#beforeMs;
  }

  /** Adds a conversation that a deletion covers. */
  add(id: string): void {
    this.#sql.transaction(() => {
      const added = this.#sql.all(
        `INSERT OR IGNORE INTO doomed SELECT ?, before FROM deletion RETURNING id`,
        id,
      );
      this.#sql.run(`UPDATE deletion SET remaining = remaining + ?`, added.length);
    });
  }

  /** The next conversations. Starts again with those that could not be deleted, after all others. */
  next(count: number): { readonly tenant: string; readonly piece: readonly Doomed[] } {
    const row = firstRow(this.#sql, `SELECT tenant, after FROM deletion`);
    if (row === undefined) return { tenant: "", piece: [] };
    const rows = this.#sql.all(
      `SELECT id, before FROM doomed WHERE id > ? ORDER BY id LIMIT ?`,
      textIn(row, "after"),
      count,
    );
    const piece = rows.map((one) => ({ id: textIn(one, "id"), beforeMs: numberIn(one, "before") }));
    return { tenant: textIn(row, "tenant"), piece };
  }

  /** Records a piece. Returns true at the end of a pass. */
  record(piece: readonly Doomed[], deleted: readonly Doomed[]): boolean {
    const last = piece.at(-1)?.id ?? "";
    this.#sql.transaction(() => {
      for (const { id } of deleted) this.#sql.run(`DELETE FROM doomed WHERE id = ?`, id);
      this.#sql.run(
        `UPDATE deletion SET after = ?1, deleted = deleted + ?2, remaining = remaining - ?2`,
        last,
        deleted.length,
      );
    });
    return last === "";
  }
}

const DELETION = `CREATE TABLE IF NOT EXISTS deletion (
  one INTEGER PRIMARY KEY, tenant TEXT NOT NULL, before INTEGER NOT NULL, started INTEGER NOT NULL,
  deleted INTEGER NOT NULL, remaining INTEGER NOT NULL, after TEXT NOT NULL
)`;
const DOOMED = `CREATE TABLE IF NOT EXISTS doomed (
  id TEXT PRIMARY KEY, before INTEGER NOT NULL
) WITHOUT ROWID`;
