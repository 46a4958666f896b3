import { renameSync, rmSync } from "node:fs";
import { nodeSqlite } from "../../../adapters/src/agent/node-sql.ts";
import { messageOf } from "../../../../src/errors.ts";
import * as limits from "../gateway-limits.ts";
import { type Counts, NO_COUNTS, type Statistics } from "../statistics.ts";
import { isObject } from "../../../../src/value/json.ts";

/**
 * Counts in a file of SQLite, which several processes may use at once. Needs `node:sqlite`. A damaged file is kept as
 * `FILE.damaged`, and counting begins anew. No call fails because it cannot be counted.
 */
export class StatisticsFile implements Statistics {
  readonly #database;
  readonly #log: (line: string) => void;

  /** Throws if the file can be neither read nor made. */
  constructor(file: string, log: (line: string) => void) {
    this.#database = opened(file, log);
    this.#log = log;
  }

  add(counts: Partial<Counts>): void {
    const all = Object.entries(counts);
    try {
      this.#write(all);
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#log(`A call was not counted: ${messageOf(error)}`);
    }
  }

  read(): Counts {
    const rows = this.#database.prepare("SELECT name, count FROM counts").all();
    const counts = new Map(rows.map(({ name, count }) => [name, Number(count)]));
    const known = Object.entries(NO_COUNTS).map(([name, none]) => [name, counts.get(name) ?? none]);
    return { ...NO_COUNTS, ...Object.fromEntries(known) };
  }

  close(): void {
    this.#database.close();
  }

  #write(counts: readonly (readonly [string, number])[]): void {
    const adding = this.#database.prepare(
      "INSERT INTO counts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
    );
    this.#database.exec("BEGIN IMMEDIATE");
    for (const [name, count] of counts) if (count > 0) adding.run(name, count);
    this.#database.exec("COMMIT");
  }
}

function opened(file: string, log: (line: string) => void) {
  try {
    return database(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    renameSync(file, `${file}.damaged`);
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    log(`The statistics are damaged and start again from zero; the old file is ${file}.damaged.`);
    return database(file);
  }
}

function database(file: string) {
  const { DatabaseSync } = nodeSqlite();
  const made = new DatabaseSync(file, { timeout: limits.sharedLockMs });
  try {
    made.exec("PRAGMA journal_mode = WAL");
    made.exec("PRAGMA synchronous = NORMAL");
    made.exec("CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, count INTEGER)");
    made.prepare("SELECT name, count FROM counts").all();
    return made;
  } catch (error) {
    made.close();
    throw error;
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
function isDamage(error: unknown): boolean {
  return isObject(error) && (error.errcode === 11 || error.errcode === 26);
}
