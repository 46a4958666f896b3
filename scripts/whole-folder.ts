import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";

/** A folder that has been filled for longer than this was left by a killed process. */
const FILL_TIMEOUT_MS = 10 * 60_000;
/** A replacement takes microseconds, but its process may be paused in the middle of it. */
const MAX_COPIES = 400;
const PAUSE_MS = 5;

/**
 * Creates the folder unless it exists. `fill` writes into a new folder next to it, which is then renamed, so
 * that a killed process leaves no partial folder under this name. If several processes do this at once, one
 * wins and the others use its result.
 */
export async function ensureWholeFolder(
  path: string,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  if (existsSync(path)) return;
  const made = newFolderFor(path);
  try {
    await fill(made);
    renameSync(made, path);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(path)) throw error;
  }
}

/**
 * Replaces a folder with another, and deletes the old one. Concurrent readers of the old folder may miss
 * files, but never see files of both versions.
 */
export function replaceFolder(path: string, made: string): void {
  const old: string[] = [];
  while (!isRenamed(made, path, ["ENOTEMPTY", "EEXIST"])) {
    const away = `${made}.old-${old.length}`;
    if (isRenamed(path, away, ["ENOENT"])) old.push(away);
  }
  for (const folder of old) rmSync(folder, { recursive: true, force: true });
}

/** Returns false if it fails with one of these codes. */
function isRenamed(from: string, to: string, codes: readonly string[]): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (isAmong(error, codes)) return false;
    throw error;
  }
}

/**
 * Copies a folder that `replaceFolder` may replace meanwhile. The copy replaces the target, and has the files
 * of one version only.
 */
export function copyFolder(from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      if (isCopied(from, to)) return;
    } catch (error) {
      if (attempt === MAX_COPIES || !isAmong(error, ["ENOENT"])) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

/** Returns false if the folder was replaced meanwhile. */
function isCopied(from: string, to: string): boolean {
  rmSync(to, { recursive: true, force: true });
  // While the folder is open, the system does not reuse its inode number.
  const handle = openSync(from, "r");
  try {
    copyFiles(from, to);
    return statSync(from).ino === fstatSync(handle).ino;
  } finally {
    closeSync(handle);
  }
}

/** Used because Node's `cpSync` aborts the process when the folder is replaced meanwhile. */
function copyFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const copy = join(to, relative(from, path));
    if (entry.isDirectory()) mkdirSync(copy, { recursive: true });
    else copyFileSync(path, copy);
  }
}

function isAmong(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** Creates an empty folder next to it. Deletes those left by killed processes. */
export function newFolderFor(path: string): string {
  const parent = dirname(path);
  const prefix = `${basename(path)}.new-`;
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent).filter((name) => name.startsWith(prefix))) {
    const made = statSync(join(parent, name), { throwIfNoEntry: false });
    if (made === undefined || Date.now() - made.mtimeMs < FILL_TIMEOUT_MS) continue;
    rmSync(join(parent, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(parent, prefix));
}
