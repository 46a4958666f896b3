import { limits } from "../limits.ts";
import { firstRow, type Sql, textIn } from "./sql.ts";
import type { Sibling } from "./choose-name.ts";
import type { Tombstone } from "./variable-store.ts";

/** What is left of evicted variables: a table that is made when the first one goes. Newest 1,000. */
export class Tombstones {
  readonly #sql: Sql;
  #byName: Map<string, Tombstone> | undefined;
  #hasTable = false;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  get(name: string): Tombstone | undefined {
    return this.#all.get(name);
  }

  couldBegin(prefix: string): boolean {
    for (const name of this.#all.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  /** Those whose names start so, with the calls that made them. */
  siblings(base: string): readonly Sibling[] {
    const evicted = [...this.#all.values()].filter(({ name }) => name.startsWith(base));
    return evicted.map(({ name, tool, inputDigest }) => ({ name, tool, inputDigest }));
  }

  add(tombstones: readonly Tombstone[]): void {
    const all = this.#all;
    if (!this.#hasTable) {
      this.#sql.run(
        `CREATE TABLE IF NOT EXISTS tombstone
         (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL)`,
      );
      this.#hasTable = true;
    }
    for (const tombstone of tombstones) {
      this.delete(tombstone.name);
      all.set(tombstone.name, tombstone);
      this.#sql.run(
        `INSERT INTO tombstone (name, data) VALUES (?, ?)`,
        tombstone.name,
        JSON.stringify(tombstone),
      );
    }
    for (const oldest of all.keys()) {
      if (all.size <= limits.maxTombstones) break;
      this.delete(oldest);
    }
  }

  delete(name: string): void {
    if (!this.#all.delete(name)) return;
    this.#sql.run(`DELETE FROM tombstone WHERE name = ?`, name);
  }

  /** What is in memory is read again when it is next needed. */
  forget(): void {
    this.#byName = undefined;
    this.#hasTable = false;
  }

  /** Oldest first. Read once: at most 1,000 small rows, most often no table at all. */
  get #all(): Map<string, Tombstone> {
    if (this.#byName !== undefined) return this.#byName;
    const table = firstRow(
      this.#sql,
      `SELECT 1 AS found FROM sqlite_master WHERE name = 'tombstone'`,
    );
    this.#hasTable = table !== undefined;
    const rows = this.#hasTable ? this.#sql.all(`SELECT data FROM tombstone ORDER BY seq`) : [];
    // `add` wrote these rows.
    const tombstones = rows.map((row) => JSON.parse(textIn(row, "data")) as Tombstone);
    this.#byName = new Map(tombstones.map((tombstone) => [tombstone.name, tombstone]));
    return this.#byName;
  }
}
