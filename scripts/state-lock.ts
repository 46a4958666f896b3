import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../src/errors.ts";
import { endProcesses, type Mark } from "./tied-process.ts";

/** A stopped server usually ends within this time. */
const WAIT_MS = 1_000;
/** Prevents garbage collection, which would close the database and release its lock. */
const held = new Set<DatabaseSync>();

export interface StateLock {
  /** Every process that works on the folder must have it in its environment. */
  readonly mark: Mark;
  /** Ends these processes, and releases the folder. */
  release(): Promise<void>;
}

/**
 * Locks a state folder for this process, and ends processes that an earlier owner left running on it. Rejects if
 * another process holds the lock. The lock is SQLite's lock on a file: the system releases it when its owner ends, in
 * any way, so no stale lock remains.
 */
export async function lockState(stateDir: string, port: number): Promise<StateLock> {
  const path = join(stateDir, "lock.sqlite");
  const ownerFile = join(stateDir, "owner.json");
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(stateDir, { recursive: true });
    database = new DatabaseSync(path, { timeout: WAIT_MS });
    // The second of two that start at once fails; a deferred or exclusive transaction can fail for both.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE");
    const { dev, ino } = statSync(path, { bigint: true });
    const mark = { BYREF_STATE_LOCK: `${dev}:${ino}` };
    const owner = { pid: process.pid, startedAt: new Date().toISOString(), port };
    writeFileSync(ownerFile, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
    await endProcesses(mark);
    const lock = database;
    held.add(lock);
    const release = async () => {
      await endProcesses(mark).catch(() => undefined);
      if (held.delete(lock)) lock.close();
    };
    return { mark, release };
  } catch (cause) {
    database?.close();
    throw new Error(isBusy(cause) ? refusal(stateDir, ownerFile) : unusable(stateDir, cause), {
      cause,
    });
  }
}

/** SQLITE_BUSY. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}

/** Explains, for example, a read-only folder, which SQLite's message does not name. */
function unusable(stateDir: string, error: unknown): string {
  return `The state folder ${stateDir} cannot be used: ${messageOf(error)}. Set STATE_DIR to a folder that this user can write to.`;
}

function refusal(stateDir: string, ownerFile: string): string {
  const { pid, startedAt, port } = JSON.parse(readFileSync(ownerFile, "utf8"));
  const who = `process ${pid}, which was started at ${startedAt} and listens on port ${port}`;
  return `${stateDir} is in use by ${who}. Stop it (kill ${pid}), or set STATE_DIR to another folder.`;
}
