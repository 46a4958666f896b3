import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const RESERVE_BYTES = 8 * 2 ** 20;
/** Below this the disk counts as full. */
const MIN_FREE_BYTES = 2 ** 20;

/**
 * Space for reads on a full disk: workerd cannot open a SQLite database without a few free pages, not even to read it.
 * The reserve is a file beside the state, which is deleted when the disk is full, also when that happens before the
 * process starts. While there is no reserve, clients should write nothing.
 */
export class DiskReserve {
  readonly #folder: string;
  readonly #path: string;
  readonly #log: (line: string) => void;
  readonly #freeBytes: (folder: string) => number;
  #isFull = false;

  /** `log` receives a line when the disk is full, and when it has space again. */
  constructor(folder: string, log: (line: string) => void, freeBytes = freeBytesOf) {
    this.#freeBytes = freeBytes;
    this.#folder = folder;
    this.#path = join(folder, "reserve");
    this.#log = log;
    mkdirSync(folder, { recursive: true });
    this.isFull();
  }

  /** Looks at the disk: true while there is space only for reads. */
  isFull(): boolean {
    const free = this.#freeBytes(this.#folder);
    const isFull = this.#hasReserve() ? free < MIN_FREE_BYTES : !this.#makeReserve(free);
    if (isFull) rmSync(this.#path, { force: true });
    if (isFull && !this.#isFull)
      this.#log("The disk is full. Until there is space, nothing is written; reads go on.");
    if (!isFull && this.#isFull) this.#log("The disk has space again.");
    this.#isFull = isFull;
    return isFull;
  }

  #hasReserve(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  /** Not zeros, which some file systems keep without using space. False if there is no space. */
  #makeReserve(free: number): boolean {
    if (free < 2 * RESERVE_BYTES) return false;
    try {
      writeFileSync(this.#path, randomBytes(RESERVE_BYTES));
      return true;
    } catch {
      return false;
    }
  }
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
