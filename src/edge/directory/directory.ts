import { DurableObject } from "cloudflare:workers";
import { hasTable, numberIn, optionalTextIn, type SqlRow, textIn } from "../../store/rows/sql.ts";
import type { Claim, Grant, QuotaService } from "../../turn/spend/lease.ts";
import { DurableSql } from "../platform/durable-sql.ts";
import { TenantSpend } from "./tenant-spend.ts";

/** A conversation in the index. */
export interface DirectoryEntry {
  readonly id: string;
  readonly title: string | null;
  /** In milliseconds since 1970. */
  readonly createdMs: number;
  /** Time of the last activity, to the minute. */
  readonly updatedMs: number;
}

/** The last entry of a page. */
export type DirectoryPlace = Pick<DirectoryEntry, "id" | "updatedMs">;

export interface DirectoryPage {
  readonly entries: readonly DirectoryEntry[];
  /** Set if there are more entries. */
  readonly next?: DirectoryPlace;
}

/**
 * One tenant's conversation index, and its spend if that is limited. Conversations send their entries
 * (`directory-client.ts`). An entry may be late; a lost one is replaced by the next, which is complete.
 * Reading creates no tables.
 */
export class DirectoryObject extends DurableObject {
  readonly #sql: DurableSql;
  readonly #spend: TenantSpend;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#sql = new DurableSql(state.storage);
    this.#spend = new TenantSpend(this.#sql);
  }

  /** Adds or replaces the entry. */
  put({ id, title, createdMs, updatedMs }: DirectoryEntry): void {
    this.#sql.run(TABLE);
    this.#sql.run(INDEX);
    this.#sql.run(
      `INSERT INTO entry (id, title, created_at, updated_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET
         title = excluded.title, created_at = excluded.created_at, updated_at = excluded.updated_at
       WHERE title IS NOT excluded.title OR created_at <> excluded.created_at
         OR updated_at <> excluded.updated_at`,
      id,
      title,
      createdMs,
      updatedMs,
    );
  }

  remove(id: string): void {
    if (this.#isEmpty) return;
    this.#sql.run(`DELETE FROM entry WHERE id = ?`, id);
  }

  /** Removes entries that are unchanged: a conversation updated meanwhile exists. */
  forget(gone: readonly DirectoryEntry[]): void {
    for (const { id, createdMs, updatedMs } of gone) {
      this.#sql.run(
        `DELETE FROM entry WHERE id = ? AND created_at = ? AND updated_at = ?`,
        id,
        createdMs,
        updatedMs,
      );
    }
  }

  /** Lists entries by last activity, newest first. `before`: the `next` of the previous page. */
  list({ limit, before }: { limit: number; before?: DirectoryPlace | undefined }): DirectoryPage {
    if (this.#isEmpty) return { entries: [] };
    const rows = this.#sql.all(
      `SELECT * FROM entry WHERE (updated_at, id) < (?, ?)
       ORDER BY updated_at DESC, id DESC LIMIT ?`,
      before?.updatedMs ?? Number.MAX_SAFE_INTEGER,
      before?.id ?? "",
      limit + 1,
    );
    const entries = rows.slice(0, limit).map(entryFrom);
    const last = entries.at(-1);
    if (rows.length <= limit || last === undefined) return { entries };
    return { entries, next: { id: last.id, updatedMs: last.updatedMs } };
  }

  /** Leases a turn's next spend. */
  take(claim: Claim): Grant {
    return this.#spend.take(claim);
  }

  /** Ends the lease of a turn that has ended or waits for approval. */
  settle(settled: Parameters<QuotaService["settle"]>[0]): void {
    this.#spend.settle(settled);
  }

  get #isEmpty(): boolean {
    return !hasTable(this.#sql, "entry");
  }
}

const TABLE = `CREATE TABLE IF NOT EXISTS entry (
  id TEXT PRIMARY KEY, title TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) WITHOUT ROWID`;
const INDEX = `CREATE INDEX IF NOT EXISTS entry_newest ON entry (updated_at, id)`;

function entryFrom(row: SqlRow): DirectoryEntry {
  return {
    id: textIn(row, "id"),
    title: optionalTextIn(row, "title") ?? null,
    createdMs: numberIn(row, "created_at"),
    updatedMs: numberIn(row, "updated_at"),
  };
}
