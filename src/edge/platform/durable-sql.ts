import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { byteLength } from "../../value/encoding.ts";
import type { Cost } from "../../turn/spend/spend.ts";
import { type Sql, sqlError, type SqlRow, type SqlValue } from "../../store/rows/sql.ts";

/** Checks the platform's limit of 2 MB for a value. Local workerd does not enforce it, so tests would miss it. */
function requireSqlValue(value: SqlValue): void {
  const units = typeof value === "string" ? value.length : 0;
  const bytes = value instanceof ArrayBuffer ? value.byteLength : units;
  // At most three bytes a character: most texts need no exact count.
  const actual =
    units * 3 > limits.maxSqlValueBytes && typeof value === "string" ? byteLength(value) : bytes;
  requireAtMost("maxSqlValueBytes", actual, "Store it in chunks.");
}

/** A Durable Object's SQLite. Counts the rows that are read and written. */
export class DurableSql implements Sql {
  readonly #storage: DurableObjectStorage;
  #rowsRead = 0;
  #rowsWritten = 0;
  #alarms = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Cost since the object woke. */
  get cost(): Cost {
    return { rowsRead: this.#rowsRead, rowsWritten: this.#rowsWritten, alarms: this.#alarms };
  }

  run(statement: string, ...bindings: readonly SqlValue[]): void {
    this.all(statement, ...bindings);
  }

  all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    for (const binding of bindings) requireSqlValue(binding);
    try {
      const cursor = this.#storage.sql.exec(statement, ...bindings);
      const rows = cursor.toArray();
      this.#rowsRead += cursor.rowsRead;
      this.#rowsWritten += cursor.rowsWritten;
      return rows;
    } catch (error) {
      throw sqlError(error);
    }
  }

  transaction<Result>(work: () => Result): Result {
    return this.#storage.transactionSync(work);
  }

  /** Resolves when all writes survive the end of the process. */
  sync(): Promise<void> {
    return this.#storage.sync();
  }

  /** Deletes every table and the alarm. */
  deleteAll(): Promise<void> {
    return this.#storage.deleteAll();
  }

  /** The time of the object's one alarm; null if none is set or its handler runs. */
  getAlarm(): Promise<number | null> {
    return this.#storage.getAlarm();
  }

  /** Sets the object's one alarm; billed as a row written. */
  async setAlarm(timeMs: number): Promise<void> {
    this.#alarms++;
    this.#rowsWritten++;
    await this.#storage.setAlarm(timeMs);
  }
}
