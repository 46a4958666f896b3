import type { DurableSql } from "./durable-sql.ts";

/**
 * The object's one alarm. The platform keeps the alarm's time until the handler has ended, and calls the
 * handler again if the process dies before. Therefore only two places move the alarm to a later time: the end
 * of the last turn in the queue, when nothing needs recovery, and the end of the handler. Everything else can
 * only move it to an earlier time, and has no effect while the handler watches a turn or run. Setting the
 * alarm costs a row.
 */
export class AlarmClock {
  readonly #sql: DurableSql;
  /**
   * Time of the platform's next call of the handler, also after a crash. -Infinity while it runs; Infinity: never.
   */
  #setForMs = Infinity;

  constructor(sql: DurableSql) {
    this.#sql = sql;
  }

  get isSet(): boolean {
    return this.#setForMs < Infinity;
  }

  /**
   * Reads the alarm. Call it first: afterwards a write and its alarm need no await between them, so they are
   * one commit.
   */
  async read(): Promise<void> {
    this.#setForMs = (await this.#sql.getAlarm()) ?? Infinity;
  }

  /** Marks the start of the handler, which must end with `handlerEnds`. */
  handlerBegins(): void {
    this.#setForMs = -Infinity;
  }

  /** The last step of the handler. Moves the alarm to `dueMs`, unless the end of a turn has set it since. */
  handlerEnds(dueMs: number): Promise<void> {
    return this.#setForMs === -Infinity ? this.rearm(dueMs) : this.setBy(dueMs);
  }

  /** Sets the alarm, also to a later time. Infinity: none is needed. Call it only if no turn is open. */
  async rearm(dueMs: number): Promise<void> {
    const isNever = dueMs > MAX_ALARM_MS;
    this.#setForMs = isNever ? Infinity : dueMs;
    if (!isNever) await this.#sql.setAlarm(dueMs);
  }

  /** Sets the alarm not later than `dueMs`, in milliseconds since 1970. The call to the platform is synchronous. */
  async setBy(dueMs: number): Promise<void> {
    if (dueMs < this.#setForMs) await this.rearm(dueMs);
  }
}

/** The last moment that a Date can hold. */
const MAX_ALARM_MS = 8.64e15;
