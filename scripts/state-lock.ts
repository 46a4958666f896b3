import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../src/errors.ts";
import { endProcesses, type Mark, processesMarked } from "./processes.ts";

/** A stopped server usually ends within this time. */
const WAIT_MS = 1_000;
const LOCK_FILE = "lock.sqlite";
const OWNER_FILE = "owner.json";
/** Prevents garbage collection, which would close the database and release its lock. */
const held = new Set<DatabaseSync>();

export interface StateLock {
  /** Every process that works on the folder must have it in its environment. */
  readonly mark: Mark;
  release(): void;
}

interface Owner {
  readonly pid: number;
  readonly startedAt: string;
  readonly port: number;
  /** Entry in the environment of its processes. */
  readonly mark: string;
}

/**
 * Locks a state folder for this process, and ends processes that an earlier owner left running on it. Rejects
 * if another process holds the lock. The lock is SQLite's lock on a file: the system releases it when its
 * owner ends, in any way, so no stale lock remains and no process id has to be trusted.
 */
export async function lockState(stateDir: string, port: number): Promise<StateLock> {
  const path = join(stateDir, LOCK_FILE);
  const database = locked(stateDir, path);
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    const mark = { BYREF_STATE_LOCK: `${dev}:${ino}` };
    const startedAt = new Date().toISOString();
    const owner: Owner = { pid: process.pid, startedAt, port, mark: mark.BYREF_STATE_LOCK };
    writeFileSync(join(stateDir, OWNER_FILE), `${JSON.stringify(owner)}\n`, { mode: 0o600 });
    await endProcesses(() => processesMarked(mark));
    removeLeftovers(stateDir);
    held.add(database);
    const release = () => {
      if (held.delete(database)) database.close();
    };
    return { mark, release };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Throws a readable error: the owner of the folder, or why the folder cannot be used. */
function locked(stateDir: string, path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(stateDir, { recursive: true });
    database = new DatabaseSync(path, { timeout: WAIT_MS });
    // The second of two that start at once fails; a deferred or exclusive transaction can fail for both.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
    return database;
  } catch (cause) {
    database?.close();
    throw new Error(isBusy(cause) ? refusal(stateDir) : unusable(stateDir, cause), { cause });
  }
}

/** Settings files contain keys; wrangler's store of traces only grows, and nothing reads it. */
function removeLeftovers(stateDir: string): void {
  const settings = readdirSync(stateDir).filter((name) => /^settings-.*\.env$/.test(name));
  for (const name of [...settings, "v3/observability"]) {
    rmSync(join(stateDir, name), { recursive: true, force: true });
  }
}

function isBusy(error: unknown): boolean {
  // SQLITE_BUSY.
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}

/** Explains, for example, a read-only folder, which SQLite's message does not name. */
function unusable(stateDir: string, error: unknown): string {
  const way = "Set STATE_DIR to a folder that this user can write to.";
  return `The state folder ${stateDir} cannot be used: ${messageOf(error)}. ${way}`;
}

function refusal(stateDir: string): string {
  const way = "or set STATE_DIR to another folder.";
  try {
    const text = readFileSync(join(stateDir, OWNER_FILE), "utf8");
    const { pid, startedAt, port } = JSON.parse(text) as Owner;
    const who = `process ${pid}, which was started at ${startedAt} and listens on port ${port}`;
    return `${stateDir} is in use by ${who}. Stop it (kill ${pid}), ${way}`;
  } catch {
    return `${stateDir} is in use by another process. Stop it, ${way}`;
  }
}
