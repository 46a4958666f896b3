import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ByrefError, messageOf } from "../../../../src/errors.ts";
import { dataFolder } from "./data-folder.ts";
import { NodeSql, nodeSqlite } from "../../../adapters/src/agent/node-sql.ts";
import {
  json,
  SqlChunks,
  SqlGarbage,
  SqlRows,
  type StoreOptions,
  VariableStore,
  type sqlRows,
  migrations,
  type contents,
} from "../../../../src/internal.ts";
import { GatewayState, metaIn } from "../gateway-state.ts";
import type { ListKeeper, Said } from "../tool-lists.ts";
import type { DatabaseSync } from "node:sqlite";
import * as limits from "../gateway-limits.ts";

export interface StatePlace {
  /** Default: the platform's folder for data. */
  readonly state?: string | undefined;
  /** Default: a digest of the working folder. */
  readonly workspace?: string | undefined;
}

/**
 * Returns the folder, which is created if it is missing. Only its owner may read it. Throws `bad_path` if something
 * else has its name, such as a link that leads out of the state folder.
 */
export function stateFolder({ state = dataFolder(), workspace }: StatePlace): string {
  const folder = join(state, folderName(workspace ?? digestOf(process.cwd())));
  mkdirSync(state, { recursive: true, mode: 0o700 });
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    requireOwnFolder(folder);
  }
  return folder;
}

/** A plain name is the folder's name. Any other ends in a digest, so that no two workspaces share a folder. */
function folderName(workspace: string): string {
  if (PLAIN_NAME.test(workspace)) return workspace;
  return `${workspace.replaceAll(/[^\w-]/gu, "_").slice(0, 80)}-${digestOf(workspace)}`;
}

/** Windows removes a dot at the end. */
const PLAIN_NAME = /^[\w-](?:[\w.-]{0,98}[\w-])?$/u;

function requireOwnFolder(folder: string): void {
  const found = lstatSync(folder);
  // Windows has no owners here.
  const isOwn = found.uid === (process.getuid?.() ?? found.uid);
  if (found.isDirectory() && isOwn) return;
  throw new ByrefError(
    "bad_path",
    `${folder} is no folder of yours; the gateway keeps nothing in it.`,
  );
}

/**
 * The state of a workspace's gateways in a file of SQLite, which several processes may use at once. Needs
 * `node:sqlite`. A damaged file is kept as `FILE.damaged`, and the workspace then counts as tainted.
 */
export class StateFile extends GatewayState {
  /** Under digests, because addresses may hold keys. */
  readonly lists: ListKeeper;
  readonly #sql: NodeSql;

  /** Throws if the file can be neither read nor made. */
  constructor(folder: string, log: (line: string) => void) {
    const file = join(folder, "gateway.sqlite");
    const sql = opened(file, log);
    super(sql, { owner: { id: OWN, isAlive }, log });
    this.#sql = sql;
    this.lists = listsIn(sql);
    // Earlier versions have a file in place of a row.
    const marks = [`${file}.damaged`, join(folder, "tainted")];
    if (marks.some((mark) => existsSync(mark))) this.taint.add();
  }

  close(): void {
    this.endCalls();
    this.#sql.close();
  }
}

function listsIn(sql: NodeSql): ListKeeper {
  const meta = metaIn(sql);
  return {
    get(server) {
      const text = meta.get(`list ${digestOf(server)}`);
      // Only `set` writes them.
      return text === undefined ? undefined : (JSON.parse(text) as Said);
    },
    set(server, said) {
      const [key, text] = [`list ${digestOf(server)}`, JSON.stringify(said)];
      if (meta.get(key) !== text) meta.set(key, text);
    },
  };
}

function opened(file: string, log: (line: string) => void): NodeSql {
  // Other processes write, too: a transaction begins with the lock.
  const open = () => new NodeSql(openShared(file), { onBegin: () => undefined });
  try {
    return open();
  } catch (error) {
    // SQLITE_CORRUPT and SQLITE_NOTADB.
    if (!json.isObject(error) || (error.errcode !== 11 && error.errcode !== 26)) throw error;
    renameSync(file, `${file}.damaged`);
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    log(`The statistics are damaged and start again from zero; the old file is ${file}.damaged.`);
    return open();
  }
}

/** The process of a number when it started, because numbers are used again. */
function identityOf(pid: number): string {
  return `${pid} ${startOf(pid)}`;
}

const OWN = identityOf(process.pid);

/** True for a process that runs, or that cannot be distinguished from one that runs. */
function isAlive(identity: string): boolean {
  const pid = Number.parseInt(identity, 10);
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return identity === (pid === process.pid ? OWN : identityOf(pid));
}

/** The start time of the process, if the system provides it in a file. */
function startOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ");
    return fields?.[START_FIELD] ?? "";
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : "";
  }
}

/** Counted from the field after the program's name. */
const START_FIELD = 19;

/** The start of the text's SHA-256, 16 hexadecimal digits: a name for a file or an entry. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

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
  let store: VariableStore | undefined;
  // Another process may be creating the tables.
  sql.transaction(() => void migrations.migrate(sql));
  const made = new VariableStore(new SharedRows(sql), {
    ...options,
    // Other processes must not evict what this one uses.
    onAccess: () => queueMicrotask(() => database.isOpen && made.flushAccess()),
  });
  store = made;
  const close = () => {
    made.flushAccess();
    database.close();
  };
  return Object.assign(guarded(made, sql, refresh), { close });
}

/** Methods that read several rows, which must belong together. Asynchronous ones read them before they wait. */
const READING = new Set("info open read readPath list page tombstone earlier".split(" "));
/** Methods that decide by what they read what they write. */
const WRITING = new Set("update undo delete reset endRun evictDue flushAccess".split(" "));

/** Each method works on the current state of the database, and on one state. */
function guarded(store: VariableStore, sql: NodeSql, refresh: () => void): VariableStore {
  const guard = (key: string, call: () => unknown): unknown => {
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
        guard(String(key), () => Reflect.apply(found, target, parameters));
    },
  });
}

class SharedRows extends SqlRows {
  override readonly chunks: SqlChunks;
  override readonly garbage: SqlGarbage;

  constructor(sql: sqlRows.Sql) {
    super(sql);
    this.garbage = new LastingGarbage(sql);
    this.chunks = new LastingChunks(sql, this.garbage);
  }
}

/** Bytes of a value that is replaced become garbage first: another process may be reading them. */
class LastingChunks extends SqlChunks {
  readonly #garbage: SqlGarbage;

  constructor(sql: sqlRows.Sql, garbage: SqlGarbage) {
    super(sql);
    this.#garbage = garbage;
  }

  override remove(id: string): void {
    if (this.#garbage.get({ id }) !== undefined) super.remove(id);
    else this.#garbage.put({ id }, { location: "chunks", id });
  }
}

/** Garbage is swept some time after this process has first seen it. */
class LastingGarbage extends SqlGarbage {
  #seen = new Map<string, number>();

  override all(): readonly contents.StoredBody[] {
    const nowMs = Date.now();
    const bodies = super.all();
    this.#seen = new Map(bodies.map(({ id }) => [id, this.#seen.get(id) ?? nowMs]));
    return bodies.filter(({ id }) => (this.#seen.get(id) ?? nowMs) <= nowMs - limits.sharedReadMs);
  }
}

function openShared(file: string): DatabaseSync {
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
