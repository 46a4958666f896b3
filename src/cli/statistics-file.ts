import { nodeSqlite } from "../agent/node-sql.ts";
import { type Counts, NO_COUNTS, Recovery, type Statistics } from "../gateway/statistics.ts";

/** Counts in a file of SQLite, which several processes may use at once. Needs `node:sqlite`. */
export class StatisticsFile implements Statistics {
  readonly #database;
  readonly #recovery = new Recovery();

  constructor(file: string) {
    const { DatabaseSync } = nodeSqlite();
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#database.exec("PRAGMA journal_mode = WAL");
    this.#database.exec("PRAGMA synchronous = NORMAL");
    this.#database.exec("CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, count INTEGER)");
  }

  add(counts: Partial<Counts>): void {
    const adding = this.#database.prepare(
      "INSERT INTO counts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
    );
    const all = Object.entries(this.#recovery.completed(counts));
    this.#database.exec("BEGIN IMMEDIATE");
    for (const [name, count] of all) if (count > 0) adding.run(name, count);
    this.#database.exec("COMMIT");
  }

  read(): Counts {
    const rows = this.#database.prepare("SELECT name, count FROM counts").all();
    const counts = rows.map(({ name, count }) => [String(name), Number(count)]);
    return { ...NO_COUNTS, ...Object.fromEntries(counts) };
  }

  close(): void {
    this.#database.close();
  }
}
