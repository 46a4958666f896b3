import type { Cost } from "../../turn/spend/spend.ts";
import type { DurableSql } from "./durable-sql.ts";

/**
 * The object's one alarm. The platform keeps the time that it was set to until the handler has ended, and calls
 * the handler again if the process dies before. So the alarm moves to a later time in two places: the end of the
 * last turn in the queue, when nothing is left to recover, and the handler's end. Everything else can only move it
 * to an earlier time, and does nothing while the handler watches over a turn or run. Setting the alarm costs
 * a row.
 */
export class AlarmClock {
  readonly #sql: DurableSql;
  /** When the platform calls the handler next, also after a crash. -Infinity while it watches; Infinity: never. */
  #setForMs = Infinity;

  constructor(sql: DurableSql) {
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
    this.#setForMs = (await this.#sql.getAlarm()) ?? Infinity;
  }

  /** It has been removed: none is set any more. */
  cleared(): void {
    this.#setForMs = Infinity;
  }

  /** The handler begins. It must end with `handlerEnds`. */
  handlerBegins(): void {
    this.#setForMs = -Infinity;
  }

  /** The handler's last act. Moves the alarm to `dueMs`, unless the end of a turn has set it since. */
  handlerEnds(dueMs: number): Promise<void> {
    return this.#setForMs === -Infinity ? this.rearm(dueMs) : this.setBy(dueMs);
  }

  /** The alarm's next time, however late. Infinity: it needs none. Call it only if nothing is open. */
  async rearm(dueMs: number): Promise<void> {
    const isNever = dueMs > MAX_ALARM_MS;
    this.#setForMs = isNever ? Infinity : dueMs;
    if (!isNever) await this.#sql.setAlarm(dueMs);
  }

  /** Not later than `dueMs`, in milliseconds since 1970; asked of the platform before this returns. */
  async setBy(dueMs: number): Promise<void> {
    if (dueMs < this.#setForMs) await this.rearm(dueMs);
  }

  /** Adds the alarm that the turn's end sets. */
  withAlarm(cost: Cost): Cost {
    const { rowsWritten, alarms } = cost;
    return { ...cost, rowsWritten: rowsWritten + 1, alarms: alarms + 1 };
  }
}

/** The last moment that a Date can hold. */
const MAX_ALARM_MS = 8.64e15;
