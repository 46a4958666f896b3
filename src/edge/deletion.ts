import { ByrefError } from "../errors.ts";
import type { Bucket } from "../store/bytes/bodies.ts";
import { migrate } from "../store/rows/migrations.ts";
import { firstRow, numberIn, type Sql, textIn } from "../store/rows/sql.ts";
import type { AlarmClock } from "./platform/alarm-clock.ts";
import type { DurableSql } from "./platform/durable-sql.ts";

/** Where a conversation is stored. */
export interface ConversationStorage {
  readonly sql: DurableSql;
  readonly bucket: Bucket | undefined;
  readonly alarmClock: AlarmClock;
}

/** Deletes a conversation: stops what runs, then deletes the rows, then what the bucket holds. */
export class Deletion {
  readonly #storage: ConversationStorage;
  readonly #listeners: (() => void)[] = [];
  /** What a deletion stops, and then waits for. */
  readonly #running = new Map<AbortController, Promise<unknown>>();
  #deletion: Promise<void> | undefined;
  /** What is left of a deleted conversation has to go before anything new is written. */
  #isMarked = false;
  #isArriving = false;

  constructor(storage: ConversationStorage) {
    this.#storage = storage;
  }

  /** The listener is called when the rows are deleted, before the rest is. */
  onMarked(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Is this the object of a conversation whose deletion the end of a process has cut off? */
  readMark(): boolean {
    this.#isMarked = isMarkedDeleted(this.#storage.sql);
    return this.#isMarked;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Work that a deletion stops. */
  stoppably<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const stopping = new AbortController();
    return this.stoppable(stopping, work(stopping.signal));
  }

  /** The same for work that has begun. */
  stoppable<Result>(stopping: AbortController, running: Promise<Result>): Promise<Result> {
    this.#running.set(stopping, running);
    return running.finally(() => this.#running.delete(stopping));
  }

  start(): Promise<void> {
    this.#deletion ??= this.#untilDone(this.#stopAndDelete());
    return this.#deletion;
  }

  /**
   * What `work` writes is there when it is done, all of it: until then, and if it rejects or the process ends,
   * the conversation is as one that never was. Whoever wants to write meanwhile waits.
   */
  arrive<Result>(work: () => Promise<Result>): Promise<Result> {
    const arrival = this.#arrive(work);
    const end = () => undefined;
    this.#deletion = this.#untilDone(arrival.then(end, end));
    return arrival;
  }

  /** Throws `conflict` for whoever did not wait: what arrives must not be seen by halves. */
  requireArrived(): void {
    if (!this.#isArriving) return;
    throw new ByrefError("conflict", "The conversation is being imported; try again.");
  }

  async #arrive<Result>(work: () => Promise<Result>): Promise<Result> {
    const { sql, alarmClock } = this.#storage;
    markArriving(sql);
    this.#isArriving = true;
    try {
      // Should the process end, the alarm wakes the object, which then removes what has come.
      await alarmClock.setBy(Date.now() + ARRIVAL_MS);
      const result = await work();
      markArrived(sql);
      return result;
    } catch (error) {
      this.#isMarked = true;
      await this.#finish();
      throw error;
    } finally {
      this.#isArriving = false;
    }
  }

  /** Nothing begins while the conversation is being deleted. What failed of that is tried again. */
  async whenDone(): Promise<void> {
    if (this.#isMarked) this.#deletion ??= this.#untilDone(this.#finish());
    await this.#deletion;
  }

  async #stopAndDelete(): Promise<void> {
    for (const stopping of this.#running.keys()) stopping.abort(wasDeleted());
    await Promise.allSettled(this.#running.values());
    markDeleted(this.#storage.sql);
    this.#isMarked = true;
    for (const listener of this.#listeners) listener();
    // Should the process end now, the alarm wakes the object, which then goes on.
    await this.#storage.alarmClock.setBy(Date.now());
    await this.#finish();
  }

  async #finish(): Promise<void> {
    const { bucket, sql, alarmClock } = this.#storage;
    if (bucket !== undefined) await bucket.blobs.delete(await bucket.blobs.list(bucket.prefix));
    await sql.deleteAll();
    alarmClock.cleared();
    this.#isMarked = false;
  }

  #untilDone(deletion: Promise<void>): Promise<void> {
    return deletion.finally(() => {
      this.#deletion = undefined;
    });
  }
}

/** After a process that ended, what has arrived by halves is removed. */
const ARRIVAL_MS = 60_000;

function wasDeleted(): ByrefError {
  return new ByrefError("conversation_not_found", "The conversation was deleted meanwhile.");
}

const DELETING = "deleting";

/**
 * Empties every table and leaves a mark that the rest is to follow: from then on the conversation is as
 * one that never was, also if the process ends before the bucket is empty.
 */
export function markDeleted(sql: Sql): void {
  sql.transaction(() => {
    const tables = sql.all(
      `SELECT name FROM sqlite_master
       WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'`,
    );
    for (const table of tables) {
      // The version of the schema stays: by it the object knows, when it wakes, that there is something.
      const name = textIn(table, "name");
      sql.run(`DELETE FROM "${name}"${name === "meta" ? ` WHERE key <> 'schema'` : ""}`);
    }
    sql.run(`INSERT INTO meta (key, value) VALUES ('${DELETING}', '1')`);
  });
}

/** What is written from now on is deleted, unless `markArrived` comes before the end of the process. */
function markArriving(sql: Sql): void {
  sql.transaction(() => {
    migrate(sql);
    sql.run(`INSERT INTO meta (key, value) VALUES ('${DELETING}', '1')`);
  });
}

function markArrived(sql: Sql): void {
  sql.run(`DELETE FROM meta WHERE key = '${DELETING}'`);
}

/** True between `markDeleted` and the end of what it began. */
function isMarkedDeleted(sql: Sql): boolean {
  const found = firstRow(sql, `SELECT count(*) AS found FROM meta WHERE key = '${DELETING}'`);
  return found !== undefined && numberIn(found, "found") > 0;
}
