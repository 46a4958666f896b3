import { createHash } from "node:crypto";
import type { Blobs } from "../../src/store/bytes/blobs.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import type { Random } from "../chaos/random.ts";
import { Broken } from "./client.ts";
import { START_MS } from "../support/turn.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { type Sql, type SqlRow, type SqlValue, textIn } from "../../src/store/rows/sql.ts";
import { NodeSql } from "../support/node-sql.ts";

type Statement = { readonly text: string; readonly bindings: readonly SqlValue[] };

/**
 * A conversation's SQLite database, which outlives the object that writes to it. What the object writes
 * without waiting for anything outside is one commit. A crash may lose the newest commits unless the outside
 * was told that they are kept.
 */
class Database {
  readonly #sql = spare.pop() ?? newSql();
  /** Everything written so far, in order. */
  #written: Statement[] = [];
  /** Where commits end, and up to where they can no longer be lost. */
  #commits: number[] = [];
  #confirmed = 0;

  /** For readers. They must not write. */
  get sql(): Sql {
    return this.#sql;
  }

  /** Number of statements written so far. */
  get position(): number {
    return this.#written.length;
  }

  /** Returns the database for one object, usable until `isDead`. */
  connect(isDead: () => boolean): Sql {
    const alive = () => {
      if (isDead()) throw new Error("SIMULATION: a dead object uses its database.");
      return this.#sql;
    };
    return {
      run: (text, ...bindings) => {
        alive().run(text, ...bindings);
        this.#written.push({ text, bindings });
      },
      all: (text, ...bindings): readonly SqlRow[] => alive().all(text, ...bindings),
      transaction: (work) => {
        const { length } = this.#written;
        try {
          return alive().transaction(work);
        } catch (error) {
          this.#written.length = length;
          throw error;
        }
      },
    };
  }

  /** Call when the object waits for something outside. What it wrote since the last call is one commit. */
  commit(): void {
    const { length } = this.#written;
    if (length > (this.#commits.at(-1) ?? 0)) this.#commits.push(length);
  }

  /** Marks what was written up to the position as kept. */
  confirm(position: number): void {
    this.#confirmed = Math.max(this.#confirmed, position);
  }

  /**
   * Call when the object has died. With `loses`, also loses one or more of the newest commits that were not
   * confirmed.
   */
  crash(random: Random, loses: boolean): void {
    const losable = this.#commits.filter((_, index) => this.#startOf(index) >= this.#confirmed);
    if (loses && losable.length > 0) this.#lose(random.between(1, losable.length));
    // What the next object finds can no longer be lost.
    this.#confirmed = this.position;
  }

  #startOf(index: number): number {
    return this.#commits[index - 1] ?? 0;
  }

  #lose(count: number): void {
    this.#commits = this.#commits.slice(0, -count);
    this.#written.length = this.#commits.at(-1) ?? 0;
    empty(this.#sql);
    for (const { text, bindings } of this.#written) this.#sql.run(text, ...bindings);
  }

  close(): void {
    empty(this.#sql);
    spare.push(this.#sql);
  }
}

/** Unused databases. Opening one and preparing its statements takes longer than a turn. */
const spare: NodeSql[] = [];

/** Opens a database in the initial state of every conversation, which cannot be lost. */
function newSql(): NodeSql {
  const sql = new NodeSql();
  migrate(sql, START_MS);
  return sql;
}

/** Restores the state that `migrate` left. */
function empty(sql: NodeSql): void {
  const tables = sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
  for (const name of tables.map((row) => textIn(row, "name"))) {
    const isMeta = name === "meta";
    if (MADE_LATER.has(name)) sql.run(`DROP TABLE ${name}`);
    else sql.run(`DELETE FROM ${name} ${isMeta ? "WHERE key NOT IN ('schema', 'created')" : ""}`);
  }
}

const MADE_LATER: ReadonlySet<string> = new Set(["chunk", "garbage", "tombstone"]);

/** An execution of a tool, as seen from outside. */
export interface Execution {
  /** The call's id in the plan, from its idempotency key; empty without a key. */
  readonly id: string;
  readonly toolCallId: string;
  readonly tool: string;
  /** True if its result was already stored when it ran. */
  readonly wasCommitted: boolean;
}

/** Everything outside the object's memory, which outlives it. */
export class World {
  readonly clock = new Clock();
  readonly database = new Database();
  readonly blobs = new MemoryBlobs();
  readonly ledger: Execution[] = [];
  /** How often the model was called, by turn and step. */
  readonly modelCalls = new Map<string, number>();
  /** How many objects there have been. */
  objects = 0;
  readonly #random: Random;
  #waiting: (() => void)[] = [];
  #ids = 0;
  #isStopped = false;
  /** Signals of running tools. */
  readonly #signals = new Set<AbortSignal>();
  #broken: Broken | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  newId(kind: string): string {
    return `${kind}_${++this.#ids}`;
  }

  /** Returns a promise that the scheduler resolves, or never does. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Waits for something outside. As on the platform, nothing leaves an object before its earlier writes are
   * kept.
   */
  async outside(): Promise<void> {
    const { position } = this.database;
    await this.wait();
    this.database.confirm(position);
  }

  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  /** Ends one of the waits, chosen at random. */
  release(): void {
    this.clock.nowMs += this.#random.chance(0.02) ? 2_500 : this.#random.between(0, 20);
    const [resolve] = this.#waiting.splice(this.#random.between(0, this.#waiting.length - 1), 1);
    resolve?.();
  }

  /** Streams the items one by one, followed by the error, if given. */
  stream<Item>(items: readonly Item[], error?: Error): ReadableStream<Item> {
    let next = 0;
    return new ReadableStream<Item>(
      {
        pull: async (controller) => {
          await this.wait();
          const item = items[next++];
          if (item !== undefined) controller.enqueue(item);
          else if (error === undefined) controller.close();
          else controller.error(error);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Records and throws a broken promise, so that code in between cannot swallow it. */
  require(isKept: boolean, promise: string): asserts isKept {
    if (isKept) return;
    this.#broken ??= new Broken(promise);
    throw this.#broken;
  }

  throwIfBroken(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  requireRunning(who: string): void {
    this.require(!this.#isStopped, `R8: ${who} is called in a turn that was stopped`);
  }

  /**
   * Registers the signal of a running tool, which a stop must abort. Returns what to call when the tool is
   * done.
   */
  tell(signal: AbortSignal | undefined): () => void {
    this.require(signal !== undefined, "R8: a tool has no signal");
    this.#signals.add(signal);
    return () => this.#signals.delete(signal);
  }

  /** Call after the running turn was stopped. Checks that the running tools were aborted. */
  stop(): void {
    this.#isStopped = true;
    for (const { aborted } of this.#signals)
      this.require(aborted, "R8: a tool was not told to stop");
  }

  /** Call when a turn begins or continues. */
  start(): void {
    this.#isStopped = false;
  }

  /** Call when the object's memory is lost: nothing that it waits for ever arrives. */
  crash(): void {
    this.#waiting = [];
    this.#signals.clear();
    this.clock.forget();
  }

  /** Returns the bucket as an object sees it: each call takes time, there and back. */
  bucket(): Blobs {
    const { blobs } = this;
    const slowly = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      await this.outside();
      const result = await work();
      await this.wait();
      return result;
    };
    return {
      put: (key, bytes) => slowly(() => blobs.put(key, bytes)),
      read: (key, from, to) => slowly(() => blobs.read(key, from, to)),
      delete: (keys) => slowly(() => blobs.delete(keys)),
      list: (prefix) => slowly(() => blobs.list(prefix)),
      upload: async (key) => {
        const upload = await slowly(() => blobs.upload(key));
        return {
          write: (bytes) => slowly(() => upload.write(bytes)),
          complete: () => slowly(() => upload.complete()),
          abort: () => slowly(() => upload.abort()),
        };
      },
    };
  }

  /** Takes control of timers and digests. Returns a function that restores those of the process. */
  install(): () => void {
    const restoreTimers = this.clock.install();
    const { subtle } = crypto;
    const digest = subtle.digest.bind(subtle);
    // The platform computes digests in another thread and resolves them at any time.
    subtle.digest = async (_algorithm, data) => {
      await this.wait();
      const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
      const hash = createHash("sha256")
        .update(bytes as Uint8Array)
        .digest();
      return new Uint8Array(hash).buffer;
    };
    return () => {
      subtle.digest = digest;
      restoreTimers();
    };
  }
}

type Timer = { readonly dueMs: number; readonly work: () => void; readonly everyMs?: number };

/** A clock that advances only when told to, for `now` and for every timer set meanwhile. */
class Clock {
  nowMs = START_MS;
  readonly #timers = new Map<number, Timer>();
  #ids = 0;

  /** Replaces the timers of this process. Returns a function that restores them. */
  install(): () => void {
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const set = (isRepeated: boolean) => (work: () => void, delayMs: number) => {
      const dueMs = this.nowMs + delayMs;
      this.#timers.set(++this.#ids, { dueMs, work, ...(isRepeated ? { everyMs: delayMs } : {}) });
      return this.#ids;
    };
    const clear = (id: number) => this.#timers.delete(id);
    Object.assign(globalThis, {
      setTimeout: set(false),
      setInterval: set(true),
      clearTimeout: clear,
      clearInterval: clear,
    });
    return () =>
      void Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  }

  /** Advances to the next timer and fires it. Returns false if there is none. */
  skip(): boolean {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one.dueMs - other.dueMs);
    if (next === undefined) return false;
    const [id, timer] = next;
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    this.#timers.delete(id);
    if (timer.everyMs !== undefined)
      this.#timers.set(id, { ...timer, dueMs: this.nowMs + timer.everyMs });
    timer.work();
    return true;
  }

  /** Drops the timers of an object that has died. */
  forget(): void {
    this.#timers.clear();
  }
}
