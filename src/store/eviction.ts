import type { Entry } from "./rows/rows.ts";

/** Returns when a variable expires: at the end of its ttl, or after `idleMs` without use. */
export function dueMsOf(entry: Entry, idleMs: number): number {
  if (entry.pinned) return Infinity;
  return Math.min(entry.expiresAtMs ?? Infinity, entry.accessedAtMs + idleMs);
}

/** Returns when a write expires, in whole milliseconds; undefined if it does not expire. */
export function dueAt(
  { ttlMs }: { readonly ttlMs?: number | undefined },
  nowMs: number,
): number | undefined {
  if (ttlMs === undefined) return undefined;
  const dueMs = Math.ceil(nowMs + ttlMs);
  return dueMs <= MAX_DATE_MS ? dueMs : undefined;
}

/** The latest time that a Date can represent (ECMA-262, Time Values). */
const MAX_DATE_MS = 8.64e15;

/**
 * Selects entries to evict so that `bytes` become free; undefined if all of them are not enough. Expired
 * entries come first, because readers can no longer see them; then the least recently used.
 */
export function entriesToEvict(
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

/** Variables that are in use and must not be evicted, such as those of a running turn or a waiting plan. */
export class Holds {
  readonly #byOwner = new Map<string, Set<string>>();

  hold(owner: string, name: string): void {
    const names = this.#byOwner.get(owner);
    if (names === undefined) this.#byOwner.set(owner, new Set([name]));
    else names.add(name);
  }

  /** Returns the names that the owner holds. */
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
