import { ByrefError } from "../errors.ts";
import type { Bucket } from "../store/bytes/bodies.ts";
import { migrate } from "../store/rows/migrations.ts";
import { readMeta, type Sql, textIn, writeMeta } from "../store/rows/sql.ts";
import type { AlarmClock } from "./platform/alarm-clock.ts";
import type { DurableSql } from "./platform/durable-sql.ts";

interface ConversationStorage {
  readonly sql: DurableSql;
  readonly bucket: Bucket | undefined;
  readonly alarmClock: AlarmClock;
}

/** Deletes a conversation: stops running work, then deletes the rows, then the objects in the bucket. */
export class Deletion {
  readonly #storage: ConversationStorage;
  readonly #listeners: (() => void)[] = [];
  /** Work that a deletion stops and then waits for. */
  readonly #running = new Map<AbortController, Promise<unknown>>();
  #deletion: Promise<void> | undefined;
  /** True until a deleted conversation is completely removed. Nothing may be written before that. */
  #isMarked = false;
  #isImporting = false;

  constructor(storage: ConversationStorage) {
    this.#storage = storage;
  }

  /** Adds a listener, called when the rows are deleted, before the bucket is. */
  onMarked(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** True if a restart has interrupted the deletion. */
  readMark(): boolean {
    this.#isMarked = readMeta(this.#storage.sql, DELETING) !== undefined;
    return this.#isMarked;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Runs work that a deletion can stop. */
  stoppably<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    return this.stoppable(controller, work(controller.signal));
  }

  /** Makes work that has already begun stoppable. */
  stoppable<Result>(controller: AbortController, running: Promise<Result>): Promise<Result> {
    this.#running.set(controller, running);
    return running.finally(() => this.#running.delete(controller));
  }

  start(): Promise<void> {
    return (this.#deletion ??= this.#untilDone(this.#stopAndDelete()));
  }

  /**
   * Makes the writes of `work` visible when it is done. Until then, and if it rejects or the process ends,
   * the conversation does not exist. Other writers wait.
   */
  runImport<Result>(work: () => Promise<Result>): Promise<Result> {
    const running = this.#runImport(work);
    this.#deletion = this.#untilDone(Promise.allSettled([running]));
    return running;
  }

  /** Throws `conflict` during an import: a partial import must not be visible. */
  requireNotImporting(): void {
    if (!this.#isImporting) return;
    throw new ByrefError("conflict", "The conversation is being imported; try again.");
  }

  async #runImport<Result>(work: () => Promise<Result>): Promise<Result> {
    const { sql, alarmClock } = this.#storage;
    // Later writes are to be deleted until the mark is removed.
    sql.transaction(() => {
      migrate(sql);
      writeMeta(sql, DELETING, "1");
    });
    this.#isImporting = true;
    try {
      // If the process ends, the alarm wakes the object, which then removes the partial import.
      await alarmClock.setBy(Date.now() + IMPORT_CLEANUP_MS);
      const result = await work();
      sql.run(`DELETE FROM meta WHERE key = '${DELETING}'`);
      return result;
    } catch (error) {
      this.#isMarked = true;
      await this.#finish();
      throw error;
    } finally {
      this.#isImporting = false;
    }
  }

  /** Resolves when no deletion or import is under way. Retries a deletion that failed. */
  async whenDone(): Promise<void> {
    if (this.#isMarked) this.#deletion ??= this.#untilDone(this.#finish());
    await this.#deletion;
  }

  async #stopAndDelete(): Promise<void> {
    for (const controller of this.#running.keys()) controller.abort(wasDeleted());
    await Promise.allSettled(this.#running.values());
    markDeleted(this.#storage.sql);
    this.#isMarked = true;
    for (const listener of this.#listeners) listener();
    // If the process ends now, the alarm wakes the object, which then continues.
    await this.#storage.alarmClock.setBy(Date.now());
    await this.#finish();
  }

  async #finish(): Promise<void> {
    const { bucket, sql, alarmClock } = this.#storage;
    if (bucket !== undefined) await bucket.blobs.delete(await bucket.blobs.list(bucket.prefix));
    // The alarm is deleted too.
    await sql.deleteAll();
    await alarmClock.rearm(Infinity);
    this.#isMarked = false;
  }

  async #untilDone(work: Promise<unknown>): Promise<void> {
    await work.finally(() => (this.#deletion = undefined));
  }
}

/** Time after which a partial import is removed if the process ends. */
const IMPORT_CLEANUP_MS = 60_000;

export function wasDeleted(): ByrefError {
  return new ByrefError("conversation_not_found", "The conversation was deleted in the meantime.");
}

const DELETING = "deleting";

/**
 * Empties every table and stores a mark: from then on the conversation does not exist, even if the process
 * ends before the bucket is empty.
 */
export function markDeleted(sql: Sql): void {
  sql.transaction(() => {
    const tables = sql.all(
      `SELECT name FROM sqlite_master
       WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'`,
    );
    for (const table of tables) {
      // The schema version stays, so that the object knows when it wakes that it has data.
      const name = textIn(table, "name");
      sql.run(`DELETE FROM "${name}"${name === "meta" ? ` WHERE key <> 'schema'` : ""}`);
    }
    writeMeta(sql, DELETING, "1");
  });
}
