import type { DatabaseSync } from "node:sqlite";
import { nodeSqlite, NodeSql } from "../../../adapters/src/agent/node-sql.ts";
import { messageOf } from "../../../../src/errors.ts";
import * as limits from "../gateway-limits.ts";
import {
  migrate,
  type Sql,
  SqlChunks,
  SqlGarbage,
  SqlRows,
  type StoredBody,
  type StoreOptions,
  VariablesOfRows as Variables,
  type VariableStore,
} from "../../../../src/internal.ts";

/** Variables in a file of SQLite that several processes use at once. */
export interface SharedStore extends VariableStore {
  /** Writes the times of the last uses and closes the file. */
  close(): void;
}

/**
 * Opens the variables of a workspace. What a store keeps in memory is read again after another process has
 * written. A call waits up to 5 seconds for another process that is writing. Needs `node:sqlite`.
 */
export function sharedStore(file: string, options: StoreOptions = {}): SharedStore {
  const database = openShared(file);
  const version = database.prepare("PRAGMA data_version");
  let known: unknown;
  const refresh = () => {
    const { data_version: now } = version.get() ?? {};
    if (known !== now) store?.forget();
    known = now;
  };
  const sql = new NodeSql(database, { onBegin: refresh });
  let store: Variables | undefined;
  // Another process may be creating the tables.
  sql.transaction(() => void migrate(sql));
  const made = new Variables(new SharedRows(sql), {
    ...options,
    // Other processes must not evict what this one uses.
    onAccess: () => queueMicrotask(() => database.isOpen && made.flushAccess()),
  });
  store = made;
  const close = () => {
    made.flushAccess();
    database.close();
  };
  return Object.assign(guarded(made, { sql, refresh }), { close });
}

interface Guards {
  readonly sql: NodeSql;
  readonly refresh: () => void;
}

/** Methods that read several rows, which must belong together. Asynchronous ones read them before they wait. */
const READING = new Set<PropertyKey>([
  "info",
  "open",
  "read",
  "readPath",
  "list",
  "page",
  "tombstone",
  "earlier",
]);
/** Methods that decide by what they read what they write. */
const WRITING = new Set<PropertyKey>([
  "update",
  "undo",
  "delete",
  "reset",
  "endRun",
  "evictDue",
  "flushAccess",
]);

/** Each method works on the current state of the database, and on one state. */
function guarded(store: Variables, { sql, refresh }: Guards): Variables {
  const guard = (key: PropertyKey, call: () => unknown): unknown => {
    if (WRITING.has(key)) return sql.transaction(call);
    const current = () => {
      refresh();
      return call();
    };
    return READING.has(key) ? sql.reading(current) : current();
  };
  return new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key, target);
      if (typeof found !== "function") return found;
      return (...parameters: readonly unknown[]) =>
        guard(key, () => Reflect.apply(found, target, parameters));
    },
  });
}

class SharedRows extends SqlRows {
  override readonly chunks: SqlChunks;
  override readonly garbage: SqlGarbage;

  constructor(sql: Sql) {
    super(sql);
    this.garbage = new LastingGarbage(sql);
    this.chunks = new LastingChunks(sql, this.garbage);
  }
}

/** Bytes of a value that is replaced become garbage first: another process may be reading them. */
class LastingChunks extends SqlChunks {
  readonly #garbage: SqlGarbage;

  constructor(sql: Sql, garbage: SqlGarbage) {
    super(sql);
    this.#garbage = garbage;
  }

  override remove(id: string): void {
    if (this.#garbage.has(id)) super.remove(id);
    else this.#garbage.add({ location: "chunks", id });
  }
}

/** Garbage is swept some time after this process has first seen it. */
class LastingGarbage extends SqlGarbage {
  #seen = new Map<string, number>();

  override all(): readonly StoredBody[] {
    const nowMs = Date.now();
    const bodies = super.all();
    this.#seen = new Map(bodies.map(({ id }) => [id, this.#seen.get(id) ?? nowMs]));
    return bodies.filter(({ id }) => (this.#seen.get(id) ?? nowMs) <= nowMs - limits.sharedReadMs);
  }
}

/** Opens a file that several processes use at once. */
export function openShared(file: string): DatabaseSync {
  const { DatabaseSync } = nodeSqlite();
  const database = new DatabaseSync(file, { timeout: limits.sharedLockMs });
  try {
    setWal(database);
    // Nothing is lost when the process is killed; a power failure may cost the last writes.
    database.exec("PRAGMA synchronous = NORMAL");
    // Fails if the file is damaged.
    database.prepare("SELECT name FROM sqlite_master").all();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite does not wait here for another process that creates the file at the same time. */
function setWal(database: DatabaseSync): void {
  const untilMs = Date.now() + limits.sharedLockMs;
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!/database is locked/u.test(messageOf(error)) || Date.now() > untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}
