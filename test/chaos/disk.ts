import { existsSync, readdirSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

export const OBJECTS = "v3/do/byref-Conversation";

/** Returns the ids of the objects that have a database in the folder. */
export function databasesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name))
    .map((name) => name.slice(0, -".sqlite".length));
}

const LOCKED_MS = 10_000;

/**
 * Opens a database without changing it: the write-ahead log stays as it is. If a kill left a rollback journal
 * instead, opening the database rolls it back, as the next server would.
 */
export function reading<Result>(path: string, work: (database: DatabaseSync) => Result): Result {
  const readOnly = !existsSync(`${path}-journal`);
  // On a busy machine a killed process may hold its locks for a moment.
  const database = new DatabaseSync(path, { readOnly, timeout: LOCKED_MS });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Returns no rows if the table does not exist. */
export function rowsOf(database: DatabaseSync, table: string, sql: string) {
  const found = database
    .prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`)
    .get(table);
  return found === undefined ? [] : database.prepare(sql).all();
}
