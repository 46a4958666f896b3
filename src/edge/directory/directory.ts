import { DurableObject } from "cloudflare:workers";
import * as limits from "../../limits.ts";
import { hasTable, numberIn, optionalTextIn, textIn } from "../../store/rows/sql.ts";
import { USER } from "../../store/user-variables.ts";
import type { Claim, Grant, QuotaService } from "../../turn/spend/spend.ts";
import { withTimeLimit } from "../../value/deadline.ts";
import { conversationNamed, namedBy, type ObjectContext } from "../conversation-of.ts";
import { problem } from "../http/problem.ts";
import { logFailure, placeIn } from "../log-failure.ts";
import { DurableSql } from "../platform/durable-sql.ts";
import { type DeletionProgress, type Doomed, TenantDeletion } from "./tenant-deletion.ts";
import { TenantSpend } from "./tenant-spend.ts";

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

/** An entry as its conversation sends it. */
export interface SentEntry extends DirectoryEntry {
  /** When the conversation, or its import, began. Default: `createdMs`. */
  readonly bornMs?: number;
}

export interface DirectoryQuery {
  readonly limit: number;
  readonly before?: DirectoryPlace | undefined;
  readonly search?: string | undefined;
}

export interface DirectoryPage {
  readonly entries: readonly DirectoryEntry[];
  /** Set if there are more entries. */
  readonly next?: DirectoryPlace | undefined;
  /** Set while the tenant's conversations are deleted. */
  readonly deletion?: DeletionProgress;
}

/** A tenant's storage and alarm, for a feature that an application adds to the object. */
export interface TenantContext extends ObjectContext {
  readonly sql: DurableSql;
  /** Call this in the commit that changes `dueMs`. */
  setAlarm(): Promise<void>;
}

/** A feature of a tenant's object, with rows of its own. */
export interface TenantFeature {
  /** When `onAlarm` is due, in milliseconds since 1970. */
  readonly dueMs: number;
  onAlarm(): Promise<void>;
  deleteAll(): void;
}

export interface TenantParts {
  readonly context: TenantContext;
  readonly feature: TenantFeature | undefined;
}

export interface TenantOptions {
  readonly routes: {
    fetch(request: Request, parts: TenantParts): Response | Promise<Response>;
  };
  readonly open: ((context: TenantContext) => TenantFeature) | undefined;
}

/**
 * One tenant's conversation index, and its spend if that is limited. Conversations send their entries
 * (`directory-client.ts`). An entry may be late; a lost one is replaced by the next, which is complete.
 * Reading creates no tables.
 */
export class DirectoryObject extends DurableObject {
  readonly #sql: DurableSql;
  readonly #spend: TenantSpend;
  readonly #deletion: TenantDeletion;
  readonly #parts: TenantParts;
  readonly #routes: TenantOptions["routes"];

  constructor(state: DurableObjectState, env: Cloudflare.Env, { routes, open }: TenantOptions) {
    super(state, env);
    this.#sql = new DurableSql(state.storage);
    this.#spend = new TenantSpend(this.#sql);
    this.#deletion = new TenantDeletion(this.#sql);
    const context = { sql: this.#sql, state, env, setAlarm: () => this.#setAlarm(0) };
    this.#parts = { context, feature: open?.(context) };
    this.#routes = routes;
  }

  /** Handles a request that the Worker has authenticated and forwarded. */
  override async fetch(request: Request): Promise<Response> {
    try {
      return await this.#routes.fetch(request, this.#parts);
    } catch (error) {
      return problem(error, placeIn(this.#parts.context, request.method));
    }
  }

  /** Adds or replaces the entry. One that a deletion of the tenant covers is deleted instead. */
  async put({ id, title, createdMs, updatedMs, bornMs = createdMs }: SentEntry): Promise<void> {
    if (this.#deletion.covers(bornMs, Date.now())) {
      this.#deletion.add(id);
      return this.#setAlarm(0);
    }
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

  /**
   * Lists entries by last activity, newest first. `before`: the `next` of the previous page. `search`: words that a
   * title contains, in any case and order. A page reads at most `maxEntries` entries, so that with `search` it
   * may have fewer than `limit` and a `next`.
   */
  list({ limit, before, search = "" }: DirectoryQuery): DirectoryPage {
    const { progress } = this.#deletion;
    const about = progress?.remaining ? { deletion: progress } : {};
    if (this.#isEmpty) return { entries: [], ...about };
    const words = foldCase(search).split(/\s+/u).filter(Boolean);
    const size = words.length === 0 ? limit + 1 : SEARCHED_AT_ONCE;
    const entries: DirectoryEntry[] = [];
    let last = before;
    for (let searched = 0; searched < limits.maxEntries; searched += size) {
      const rows = this.#following(last, size);
      for (const entry of rows) {
        const title = foldCase(entry.title ?? "");
        if (words.every((word) => title.includes(word))) {
          if (entries.length === limit) return { entries, next: placeOf(entries.at(-1)), ...about };
          entries.push(entry);
        }
        last = entry;
      }
      if (rows.length < size) return { entries, ...about };
    }
    return { entries, next: placeOf(last), ...about };
  }

  /**
   * Deletes the conversations that exist now, in pieces: each runs in an alarm of its own, which the platform repeats
   * if the process dies. They are off the list at once. What the feature keeps is deleted too; the tenant's spend stays.
   */
  async deleteAll(tenant: string): Promise<DeletionProgress> {
    this.#deletion.begin(tenant, Date.now());
    this.#parts.feature?.deleteAll();
    await this.#setAlarm(0);
    return this.#deletion.progress ?? { startedMs: Date.now(), deleted: 0, remaining: 0 };
  }

  /** Deletes the next piece of the tenant's conversations, and calls the feature. Does not throw. */
  override async alarm(): Promise<void> {
    const log = (error: unknown) => void logFailure(error, { request: "alarm" });
    await this.#parts.feature?.onAlarm().catch(log);
    let pauseMs = 0;
    try {
      if (this.#deletion.progress !== undefined) pauseMs = await this.#deletePiece();
    } catch (error) {
      log(error);
      pauseMs = RETRY_MS;
    }
    await this.#setAlarm(pauseMs);
  }

  /** Returns the pause before the next piece. */
  async #deletePiece(): Promise<number> {
    const { tenant, piece } = this.#deletion.next(PIECE);
    const tries = piece.map((one) => this.#delete(tenant, one));
    const isPassOver = this.#deletion.record(piece, (await Promise.all(tries)).flat());
    return isPassOver ? RETRY_MS : 0;
  }

  /** Returns nothing if it failed. */
  async #delete(tenant: string, one: Doomed): Promise<readonly Doomed[]> {
    const { id, beforeMs } = one;
    try {
      const { jurisdiction } = this.ctx.id;
      const conversation = conversationNamed(this.env, [tenant, ...namedBy(id)], { jurisdiction });
      await withTimeLimit(limits.silenceMs, () => conversation.deleteBefore(beforeMs));
      return [one];
    } catch (error) {
      logFailure(error, { tenant, conversation: id, request: "deletion" });
      return [];
    }
  }

  async #setAlarm(pauseMs: number): Promise<void> {
    const { remaining = 0 } = this.#deletion.progress ?? {};
    const pieceMs = remaining > 0 ? Date.now() + pauseMs : Infinity;
    const dueMs = Math.min(pieceMs, this.#parts.feature?.dueMs ?? Infinity);
    if (dueMs < Infinity) await this.#sql.setAlarm(dueMs);
  }

  /** Leases a turn's next spend. */
  take(claim: Claim): Grant {
    return this.#spend.take(claim);
  }

  /** Ends the lease of a turn that has ended or waits for approval. */
  settle(settled: Parameters<QuotaService["settle"]>[0]): void {
    this.#spend.settle(settled);
  }

  #following(place: DirectoryPlace | undefined, count: number): readonly DirectoryEntry[] {
    const rows = this.#sql.all(
      `SELECT * FROM entry WHERE (updated_at, id) < (?, ?) AND id NOT LIKE '${USER}:%'
       ORDER BY updated_at DESC, id DESC LIMIT ?`,
      place?.updatedMs ?? Number.MAX_SAFE_INTEGER,
      place?.id ?? "",
      count,
    );
    return rows.map((row) => ({
      id: textIn(row, "id"),
      title: optionalTextIn(row, "title") ?? null,
      createdMs: numberIn(row, "created_at"),
      updatedMs: numberIn(row, "updated_at"),
    }));
  }

  get #isEmpty(): boolean {
    return !hasTable(this.#sql, "entry");
  }
}

const TABLE = `CREATE TABLE IF NOT EXISTS entry (
  id TEXT PRIMARY KEY, title TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) WITHOUT ROWID`;
const INDEX = `CREATE INDEX IF NOT EXISTS entry_newest ON entry (updated_at, id)`;

/** Conversations that one alarm deletes, side by side; pause before those that failed are tried again. */
const PIECE = 50;
const RETRY_MS = 60_000;

/** Entries that a search reads with one statement. */
const SEARCHED_AT_ONCE = 500;

/**
 * SQLite's own comparisons ignore the case of ASCII letters only. In capitals ß is SS, and both forms of a small sigma
 * are one; the capital i with a dot is the only letter that is not that of its small one.
 */
function foldCase(text: string): string {
  return text.normalize("NFKC").toUpperCase().replaceAll("\u0130", "I");
}

function placeOf(entry: DirectoryPlace | undefined): DirectoryPlace | undefined {
  return entry && { id: entry.id, updatedMs: entry.updatedMs };
}
