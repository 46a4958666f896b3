import type { Cost } from "../turn/cost.ts";
import type { Sql, SqlRow, SqlValue } from "../store/sql.ts";

/** A Durable Object's SQLite, with a count of what is read and written. */
export class DurableSql implements Sql {
  readonly #storage: DurableObjectStorage;
  #rowsRead = 0;
  #rowsWritten = 0;
  #alarms = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Since the object woke. */
  get cost(): Cost {
    return { rowsRead: this.#rowsRead, rowsWritten: this.#rowsWritten, alarms: this.#alarms };
  }

  run(statement: string, ...bindings: readonly SqlValue[]): void {
    this.all(statement, ...bindings);
  }

  all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    const cursor = this.#storage.sql.exec(statement, ...bindings);
    const rows = cursor.toArray();
    this.#rowsRead += cursor.rowsRead;
    this.#rowsWritten += cursor.rowsWritten;
    return rows;
  }

  transaction<Result>(work: () => Result): Result {
    return this.#storage.transactionSync(work);
  }

  /** Sets the object's one alarm; billed as a row written. */
  async setAlarm(timeMs: number): Promise<void> {
    this.#alarms++;
    this.#rowsWritten++;
    await this.#storage.setAlarm(timeMs);
  }
}
