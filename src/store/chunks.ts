import { limits } from "../limits.ts";
import { slicesOf } from "../value/json.ts";
import { byteLength } from "./described.ts";
import { type Sql, textIn } from "./sql.ts";

/**
 * Texts that are too long for one row, in rows of at most `maxChunkBytes`. The table is made when the
 * first one comes: most conversations never need it.
 */
export class Chunks {
  readonly #sql: Sql;
  #hasTable = false;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The id must be new. */
  write(id: string, text: string): void {
    if (!this.#hasTable) {
      this.#sql.run(
        `CREATE TABLE IF NOT EXISTS chunk
         (id TEXT, part INTEGER, text TEXT NOT NULL, PRIMARY KEY (id, part)) WITHOUT ROWID`,
      );
      this.#hasTable = true;
    }
    // A UTF-16 unit takes three bytes at most, and one in most texts.
    const isAscii = byteLength(text) === text.length;
    const chars = isAscii ? limits.maxChunkBytes : Math.floor(limits.maxChunkBytes / 3);
    let part = 0;
    for (const chunk of slicesOf(text, chars)) {
      this.#sql.run(`INSERT INTO chunk (id, part, text) VALUES (?, ?, ?)`, id, part++, chunk);
    }
  }

  read(id: string): string {
    const chunks = this.#sql.all(`SELECT text FROM chunk WHERE id = ? ORDER BY part`, id);
    return chunks.map((chunk) => textIn(chunk, "text")).join("");
  }

  remove(id: string): void {
    this.#sql.run(`DELETE FROM chunk WHERE id = ?`, id);
  }

  /** A rolled back transaction may have taken the table with it. */
  forget(): void {
    this.#hasTable = false;
  }
}
