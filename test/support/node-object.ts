import { createHash } from "node:crypto";
import { scheduler } from "node:timers/promises";
import type { ConversationObject } from "../../src/edge/conversation.ts";
import { textIn } from "../../src/store/rows/sql.ts";
import { WatchedSql } from "../store/watched-sql.ts";

/** `crypto.DigestStream` of Workers, which Node does not have. */
class DigestStream extends WritableStream<Uint8Array> {
  readonly digest: Promise<ArrayBuffer>;

  constructor() {
    const hash = createHash("sha256");
    const { promise, resolve } = Promise.withResolvers<ArrayBuffer>();
    super({
      write: (bytes) => void hash.update(bytes),
      close: () => resolve(new Uint8Array(hash.digest()).buffer),
    });
    this.digest = promise;
  }
}

/** The time between the start and the end of a process. */
interface Life<Held> {
  readonly object: Held;
  /** Resolves when the constructor's work is done. */
  readonly ready: Promise<unknown>;
  isOver: boolean;
}

/**
 * A Durable Object in this process, with SQLite and an alarm, that can be killed at any time. As on the
 * platform, an alarm is kept until its handler has finished, so it fires again if the process dies before
 * that; if the handler sets a new time, that replaces it. Every write survives; `test/simulation` covers lost
 * commits.
 */
export class NodeObject<Held extends Pick<ConversationObject, "alarm"> = ConversationObject> {
  /** False: no object prolongs times by a share of its own, so that they are exact, and recovery does not pause. */
  static isSpread = false;
  readonly sql = new WatchedSql();
  alarms = 0;
  readonly #name: string;
  readonly #make: (state: DurableObjectState) => Held;
  #alarmMs: number | null = null;
  #life: Life<Held> | undefined;
  /** Undefined while no handler runs. */
  #handler: { hasSet: boolean } | undefined;

  constructor(name: string, make: (state: DurableObjectState) => Held) {
    this.#name = name;
    this.#make = make;
  }

  /** When the alarm fires next if the process dies now. */
  get alarmMs(): number | null {
    return this.#alarmMs;
  }

  get isRinging(): boolean {
    return this.#handler !== undefined;
  }

  /** Returns the object, creating it if necessary. */
  async object(): Promise<Held> {
    this.#life ??= this.#start();
    const { object, ready } = this.#life;
    await ready;
    return object;
  }

  kill(): void {
    if (this.#life !== undefined) this.#life.isOver = true;
    this.#life = undefined;
    this.#handler = undefined;
  }

  /** Fires the alarm if it is due, without any request. */
  tick(): void {
    if (this.#alarmMs === null || this.#alarmMs > Date.now() || this.isRinging) return;
    const handler = { hasSet: false };
    this.#handler = handler;
    void this.object()
      .then((object) => object.alarm())
      .then(() => {
        if (this.#handler !== handler) return;
        this.#handler = undefined;
        if (!handler.hasSet) this.#alarmMs = null;
        this.tick();
      })
      .catch((error: unknown) => {
        // A handler of a dead process fails unseen.
        if (this.#handler === handler) throw error;
      });
  }

  #start(): Life<Held> {
    let ready: Promise<unknown> = Promise.resolve();
    const life = { isOver: false };
    const blockConcurrencyWhile = (work: () => Promise<unknown>) => (ready = ready.then(work));
    const own = createHash("sha256").update(this.#name).digest("hex");
    const digest = NodeObject.isSpread ? own : own.replace(/^.{8}/, "00000000");
    const state = {
      id: { name: this.#name, toString: () => digest },
      storage: this.#storage(life),
      waitUntil: () => undefined,
      blockConcurrencyWhile,
      getWebSockets: () => [],
    };
    const object = this.#make(state as unknown as DurableObjectState);
    return Object.assign(life, { object, ready });
  }

  #storage(life: { readonly isOver: boolean }): object {
    /** Runs `work`, or throws if the process is dead. */
    const alive = <Result>(work: () => Result) => {
      if (life.isOver) throw new Error("This process is dead.");
      return work();
    };
    const setAlarm = (timeMs: number | null) => {
      this.#alarmMs = timeMs;
      if (this.#handler !== undefined) this.#handler.hasSet = true;
      setImmediate(() => this.tick());
    };
    return {
      sql: {
        exec: (statement: string, ...bindings: readonly (string | number | null)[]) => {
          const rows = alive(() => this.sql.all(statement, ...bindings));
          return { toArray: () => rows, rowsRead: 0, rowsWritten: 0 };
        },
      },
      transactionSync: <Result>(work: () => Result) =>
        alive(() => this.sql.transaction(work as () => never)),
      sync: async () => (life.isOver ? new Promise(() => {}) : undefined),
      getAlarm: async () => (this.#handler?.hasSet === false ? null : this.#alarmMs),
      setAlarm: async (timeMs: number) =>
        alive(() => {
          this.alarms++;
          setAlarm(timeMs);
        }),
      deleteAll: async () => alive(() => this.#deleteAll()),
    };
  }

  #deleteAll(): void {
    this.#alarmMs = null;
    const tables = this.sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
    const own = tables
      .map((row) => textIn(row, "name"))
      .filter((name) => !name.startsWith("sqlite_"));
    for (const name of own) this.sql.run(`DROP TABLE ${name}`);
  }
}

Object.assign(crypto, { DigestStream });
Object.assign(globalThis, { IdentityTransformStream: TransformStream, scheduler });
