import type { Entry } from "./rows/rows.ts";

/** When a variable goes: at the end of its ttl, or when nobody has used it for `idleMs`. */
export function dueMsOf(entry: Entry, idleMs: number): number {
  if (entry.pinned) return Infinity;
  return Math.min(entry.expiresAtMs ?? Infinity, entry.accessedAtMs + idleMs);
}

/** When a write is due, in whole milliseconds; undefined if it stays. */
export function dueAt(
  { ttlMs }: { readonly ttlMs?: number | undefined },
  nowMs: number,
): number | undefined {
  if (ttlMs === undefined) return undefined;
  const dueMs = Math.ceil(nowMs + ttlMs);
  return dueMs <= MAX_DATE_MS ? dueMs : undefined;
}

/** The last moment that a Date can hold (ECMA-262, Time Values). */
const MAX_DATE_MS = 8.64e15;

/**
 * So many of the entries that `bytes` become free, or undefined if all of them are not enough. Those whose
 * time is over go first, being gone for every reader; then the least recently used.
 */
export function firstToGo(
  entries: readonly Entry[],
  { bytes, isDue }: { readonly bytes: number; readonly isDue: (entry: Entry) => boolean },
): readonly Entry[] | undefined {
  const ordered = entries.toSorted(
    (one, other) =>
      Number(isDue(other)) - Number(isDue(one)) ||
      one.accessedAtMs - other.accessedAtMs ||
      one.seq - other.seq,
  );
  let free = 0;
  for (const [index, entry] of ordered.entries()) {
    free += entry.bytes;
    if (free >= bytes) return ordered.slice(0, index + 1);
  }
  return undefined;
}

/** Which variables somebody needs, and must not be evicted: those of a running turn, of a waiting plan. */
export class Holds {
  readonly #byOwner = new Map<string, Set<string>>();

  hold(owner: string, name: string): void {
    const names = this.#byOwner.get(owner);
    if (names === undefined) this.#byOwner.set(owner, new Set([name]));
    else names.add(name);
  }

  /** What the owner holds. */
  names(owner: string): readonly string[] {
    return [...(this.#byOwner.get(owner) ?? [])];
  }

  release(owner: string): void {
    this.#byOwner.delete(owner);
  }

  has(name: string): boolean {
    for (const names of this.#byOwner.values()) if (names.has(name)) return true;
    return false;
  }
}
