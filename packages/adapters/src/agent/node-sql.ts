import type * as sqlite from "node:sqlite";
import { sqlRows, migrations, sqlStores, type StoreOptions } from "../../../../src/internal.ts";
import { ByrefError, messageOf } from "../../../../src/errors.ts";

export function hasNodeSqlite(): boolean {
  return found() !== undefined;
}

/** Node's SQLite. Throws in Workers and in Node before 22.13, which do not have it. */
export function nodeSqlite(): typeof sqlite {
  const module = found();
  if (module === undefined) throw new Error("This needs node:sqlite: Node 22.13 or newer.");
  return module;
}

function found(): typeof sqlite | undefined {
  // Workers have a module of this name whose classes cannot be used.
  if ("WebSocketPair" in globalThis) return undefined;
  // Not imported, because bundlers for other platforms do not know the module.
  return globalThis.process?.getBuiltinModule?.("node:sqlite");
}

export interface NodeSqlOptions {
  /** Called in each outermost transaction, which has the database for itself then. Default: it has it anyway. */
  readonly onBegin?: () => void;
}

export class NodeSql implements sqlRows.Sql {
  readonly #database: sqlite.DatabaseSync;
  readonly #onBegin: (() => void) | undefined;
  readonly #prepared = new Map<string, sqlite.StatementSync>();
  #depth = 0;

  constructor(database: sqlite.DatabaseSync, { onBegin }: NodeSqlOptions = {}) {
    this.#database = database;
    this.#onBegin = onBegin;
  }

  run(statement: string, ...bindings: readonly sqlRows.SqlValue[]): void {
    const prepared = this.#prepare(statement);
    try {
      prepared.run(...bindings.map(toBinding));
    } catch (error) {
      throw sqlRows.sqlError(error);
    }
  }

  all(statement: string, ...bindings: readonly sqlRows.SqlValue[]): readonly sqlRows.SqlRow[] {
    const rows = this.#prepare(statement).all(...bindings.map(toBinding));
    return rows.map((row) => {
      const values = Object.entries(row).map(([column, value]) => [column, fromColumn(value)]);
      return Object.fromEntries(values);
    });
  }

  /**
   * A nested transaction is a savepoint. If it throws and the outer one catches, only the nested one is rolled back.
   */
  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    const onBegin = this.#depth === 0 ? this.#onBegin : undefined;
    const point = `point_${this.#depth}`;
    const [begin, end, undo] =
      onBegin === undefined
        ? [`SAVEPOINT ${point}`, `RELEASE ${point}`, `ROLLBACK TO ${point}; RELEASE ${point}`]
        : ["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"];
    this.#exec(begin);
    this.#depth++;
    try {
      onBegin?.();
      const result = work();
      this.#exec(end);
      return result;
    } catch (error) {
      // If the disk is full, SQLite has already rolled back.
      if (this.#database.isTransaction) this.#database.exec(undo);
      throw error;
    } finally {
      this.#depth--;
    }
  }

  /** Runs work that reads only, on one state of the database, whatever other processes write meanwhile. */
  reading<Result>(work: () => Result): Result {
    if (this.#depth > 0) return work();
    this.#exec("BEGIN");
    this.#depth++;
    try {
      return work();
    } finally {
      this.#depth--;
      this.#database.exec("COMMIT");
    }
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  /** The end of the outermost transaction writes what is in memory. */
  #exec(statement: string): void {
    try {
      this.#database.exec(statement);
    } catch (error) {
      throw sqlRows.sqlError(error);
    }
  }

  #prepare(statement: string): sqlite.StatementSync {
    const known = this.#prepared.get(statement);
    if (known !== undefined) return known;
    const prepared = this.#database.prepare(statement);
    this.#prepared.set(statement, prepared);
    return prepared;
  }
}

function toBinding(value: sqlRows.SqlValue) {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}

function fromColumn(value: sqlite.SQLOutputValue): sqlRows.SqlValue {
  if (typeof value === "bigint") throw new RangeError("An integer is too large for a number.");
  return value instanceof Uint8Array ? new Uint8Array(value).buffer : value;
}

export interface StoreOnDisk extends sqlStores.SqlStore {
  /** Writes the times of the last uses and closes the file. The store cannot be used afterwards. */
  close(): void;
}

/**
 * Opens the variables of one conversation in a file of SQLite, which is created if it is missing. Needs
 * Node's `node:sqlite` (22.13 or later). The file belongs to one process: for another one it throws
 * `conflict` until `close` is called or the process ends. `:memory:` keeps nothing on disk. `bucket` is
 * a place outside of the file for large values.
 */
export function sqliteStore(file: string, options: StoreOptions = {}): StoreOnDisk {
  const database = opened(file);
  const sql = new NodeSql(database);
  migrations.migrate(sql);
  const store = new sqlStores.SqlStore(sql, options);
  const close = () => {
    store.flushAccess();
    database.close();
  };
  return Object.assign(store, { close });
}

function opened(file: string): sqlite.DatabaseSync {
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
