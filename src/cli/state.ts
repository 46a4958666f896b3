import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasNodeSqlite } from "../agent/node-sql.ts";
import { messageOf } from "../errors.ts";
import { MemoryStatistics, type Statistics } from "../gateway/statistics.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { dataFolder } from "./data-folder.ts";
import { digestOf } from "./digest.ts";
import { JournalFile } from "./journal-file.ts";
import { sharedStore } from "./shared-store.ts";
import { StatisticsFile } from "./statistics-file.ts";

/** The files of a workspace's state. */
export interface StatePlace {
  /** Default: the platform's folder for data. */
  readonly state?: string | undefined;
  /** Default: a digest of the working folder. */
  readonly workspace?: string | undefined;
}

/** Returns the folder, which is created if it is missing. Only its owner may read it. */
export function stateFolder({ state = dataFolder(), workspace }: StatePlace): string {
  const name = workspace ?? digestOf(process.cwd());
  const folder = join(state, name.replaceAll(/[^\w.-]/gu, "_"));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Opens the workspace's variables, which all its processes share. Without `node:sqlite` they are in memory. */
export function openStore(folder: string, log: (line: string) => void): VariableStore {
  if (hasNodeSqlite()) return sharedStore(join(folder, "variables.sqlite"));
  log("Variables are kept in memory only: a store on disk needs Node 22.13 or newer.");
  return new MemoryStore();
}

/** Opens the workspace's counts. Without `node:sqlite`, or a file, they are those of this process. */
export function openStatistics(folder: string, log: (line: string) => void): Statistics {
  if (!hasNodeSqlite()) return new MemoryStatistics();
  try {
    return new StatisticsFile(join(folder, "statistics.sqlite"), log);
  } catch (error) {
    log(`Statistics are kept in memory only: ${messageOf(error)}`);
    return new MemoryStatistics();
  }
}

/** Opens the workspace's record of running calls. Undefined without `node:sqlite`. */
export function openJournal(folder: string): JournalFile | undefined {
  return hasNodeSqlite() ? new JournalFile(join(folder, "calls.sqlite")) : undefined;
}

/** Returns the workspace's key for what clients send back, which is made on first use. */
export function signingKey(folder: string): Uint8Array {
  const file = join(folder, "key");
  try {
    writeFileSync(file, randomBytes(32), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(file);
}
