import type { DatabaseSync } from "node:sqlite";
import { ByrefError, messageOf } from "../../../../src/errors.ts";
import { migrate, SqlStore, type SqlStoreOptions } from "../../../../src/internal.ts";
import { nodeSqlite, NodeSql } from "./node-sql.ts";

/** A store in a file of SQLite. */
export interface StoreOnDisk extends SqlStore {
  /** Writes the times of the last uses and closes the file. The store cannot be used afterwards. */
  close(): void;
}

/**
 * Opens the variables of one conversation in a file of SQLite, which is created if it is missing. Needs
 * Node's `node:sqlite` (22.13 or later). The file belongs to one process: for another one it throws
 * `conflict` until `close` is called or the process ends. `:memory:` keeps nothing on disk. `bucket` is
 * a place outside of the file for large values.
 */
export function sqliteStore(
  file: string,
  options: Omit<SqlStoreOptions, "isNew"> = {},
): StoreOnDisk {
  const database = opened(file);
  const sql = new NodeSql(database);
  migrate(sql);
  return new SqliteStore(sql, options, () => database.close());
}

class SqliteStore extends SqlStore implements StoreOnDisk {
  readonly #close: () => void;

  constructor(sql: NodeSql, options: SqlStoreOptions, close: () => void) {
    super(sql, options);
    this.#close = close;
  }

  close(): void {
    this.flushAccess();
    this.#close();
  }
}

function opened(file: string): DatabaseSync {
  const { DatabaseSync } = nodeSqlite();
  const database = new DatabaseSync(file);
  try {
    // The store keeps in memory what it has read, so no other process may write.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    // Nothing is lost when the process is killed; a power failure may cost the last writes.
    database.exec("PRAGMA synchronous = NORMAL");
    database.exec("BEGIN IMMEDIATE");
    database.exec("COMMIT");
    return database;
  } catch (error) {
    database.close();
    if (!/database is locked/u.test(messageOf(error))) throw error;
    const message = `${file} is in use by another process, which has to close it first.`;
    throw new ByrefError("conflict", message, { file });
  }
}
