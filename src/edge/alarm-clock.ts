import type { Cost } from "../turn/cost.ts";
import type { DurableSql } from "./durable-sql.ts";

/** The object's one alarm. It is set only to an earlier time than it has: setting it costs a row. */
export class AlarmClock {
  readonly #storage: DurableObjectStorage;
  readonly #sql: DurableSql;
  /** Infinity if none is set. */
  #setForMs = Infinity;

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

  /** It is going off, or has been removed: none is set any more. */
  cleared(): void {
    this.#setForMs = Infinity;
  }

  /** Not later than `dueMs`, in milliseconds since 1970; asked of the platform before this returns. */
  async setBy(dueMs: number): Promise<void> {
    if (!this.#isNews(dueMs)) return;
    this.#setForMs = dueMs;
    await this.#sql.setAlarm(dueMs);
  }

  /** The cost with that of a `setBy` which is still to come. */
  withAlarm(cost: Cost, dueMs: number): Cost {
    const { rowsWritten, alarms } = cost;
    if (!this.#isNews(dueMs)) return cost;
    return { ...cost, rowsWritten: rowsWritten + 1, alarms: alarms + 1 };
  }

  #isNews(dueMs: number): boolean {
    return dueMs <= MAX_ALARM_MS && dueMs < this.#setForMs;
  }
}

/** The last moment that a Date can hold. */
const MAX_ALARM_MS = 8.64e15;
