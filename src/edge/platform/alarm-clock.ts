import type { Cost } from "../../turn/spend/cost.ts";
import type { DurableSql } from "./durable-sql.ts";

/**
 * The object's one alarm. It is set only to an earlier time than it has: setting it costs a row. While a
 * turn runs it is the turn's: it goes off at once, and lasts as long as the turn. Should the process end,
 * the platform sets it off again.
 */
export class AlarmClock {
  readonly #storage: DurableObjectStorage;
  readonly #sql: DurableSql;
  /** Infinity if none is set. */
  #setForMs = Infinity;
  #isRinging = false;

  constructor(storage: DurableObjectStorage, sql: DurableSql) {
    this.#storage = storage;
    this.#sql = sql;
  }

  get isSet(): boolean {
    return this.#setForMs < Infinity;
  }

  /**
   * To be called before all else where there may be an alarm. From then on a write and its alarm are one
   * commit, because nothing is waited for between them.
   */
  async read(): Promise<void> {
    this.#setForMs = (await this.#storage.getAlarm()) ?? Infinity;
  }

  /** It has been removed: none is set any more. */
  cleared(): void {
    this.#setForMs = Infinity;
  }

  /** It goes off, until `work` is done. */
  async ring(work: () => Promise<void>): Promise<void> {
    this.#setForMs = Infinity;
    this.#isRinging = true;
    try {
      await work();
    } finally {
      this.#isRinging = false;
    }
  }

  /** A turn begins: it rings, or goes off at once. */
  watch(): void {
    if (!this.#isRinging) void this.setBy(Date.now());
  }

  /** The turn's end: what is due next, however soon it was set for. */
  async move(dueMs: number): Promise<void> {
    if (dueMs > MAX_ALARM_MS) return;
    this.#setForMs = dueMs;
    await this.#sql.setAlarm(dueMs);
  }

  /** Not later than `dueMs`, in milliseconds since 1970; asked of the platform before this returns. */
  async setBy(dueMs: number): Promise<void> {
    if (dueMs < this.#setForMs) await this.move(dueMs);
  }

  /** The cost with that of a `move` which is still to come. */
  withAlarm(cost: Cost): Cost {
    const { rowsWritten, alarms } = cost;
    return { ...cost, rowsWritten: rowsWritten + 1, alarms: alarms + 1 };
  }
}

/** The last moment that a Date can hold. */
const MAX_ALARM_MS = 8.64e15;
