import { type Counts, NO_COUNTS, type Statistics } from "../statistics.ts";
import { hasTable, numberIn, type Sql, textIn } from "../../../../src/store/rows/sql.ts";

/** Counts in a table of the conversation's object, for the conversation's life. */
export class ConversationStatistics implements Statistics {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  add(counts: Partial<Counts>): void {
    const all = Object.entries(counts);
    this.#sql.transaction(() => {
      this.#sql.run(`CREATE TABLE IF NOT EXISTS gateway_count
        (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID`);
      for (const [name, count] of all.filter(([, added]) => added > 0)) {
        this.#sql.run(
          `INSERT INTO gateway_count (name, count) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET count = count + excluded.count`,
          name,
          count,
        );
      }
    });
  }

  read(): Counts {
    // Reading writes nothing: it may come before the conversation exists.
    if (!hasTable(this.#sql, "gateway_count")) return NO_COUNTS;
    const rows = this.#sql.all(`SELECT name, count FROM gateway_count`);
    const counts = rows.map((row) => [textIn(row, "name"), numberIn(row, "count")] as const);
    return { ...NO_COUNTS, ...Object.fromEntries(counts) };
  }
}
