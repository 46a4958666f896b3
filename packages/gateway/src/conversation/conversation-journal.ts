import type { CallJournal } from "../call-journal.ts";
import * as limits from "../gateway-limits.ts";
import { hasTable, numberIn, type Sql } from "../../../../src/store/rows/sql.ts";

/** Running calls in a table of the conversation's object. Those of an earlier instance were cut off. */
export class ConversationJournal implements CallJournal {
  readonly #sql: Sql;
  readonly #instance = crypto.randomUUID();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  begin(call: string): () => void {
    this.#create();
    const id = crypto.randomUUID();
    this.#sql.run(
      `INSERT INTO gateway_call (id, call, at, instance) VALUES (?, ?, ?, ?)`,
      id,
      call,
      Date.now(),
      this.#instance,
    );
    const end = () => {
      // A deletion of the conversation may have come first.
      if (this.#exists()) this.#sql.run(`DELETE FROM gateway_call WHERE id = ?`, id);
    };
    // The client has its answer only when it was written out. Until then the call counts as cut off.
    return () => void setTimeout(end, limits.journalEndMs);
  }

  takeCutOff(call: string): number | undefined {
    if (!this.#exists()) return undefined;
    const found = this.#sql.all(
      `DELETE FROM gateway_call WHERE call = ? AND instance <> ? RETURNING at`,
      call,
      this.#instance,
    );
    return found.length === 0 ? undefined : Math.max(...found.map((row) => numberIn(row, "at")));
  }

  #create(): void {
    this.#sql.run(`CREATE TABLE IF NOT EXISTS gateway_call
      (id TEXT PRIMARY KEY, call TEXT NOT NULL, at INTEGER NOT NULL, instance TEXT NOT NULL)`);
    this.#sql.run(`DELETE FROM gateway_call WHERE at < ?`, Date.now() - limits.journalMs);
  }

  #exists(): boolean {
    return hasTable(this.#sql, "gateway_call");
  }
}
