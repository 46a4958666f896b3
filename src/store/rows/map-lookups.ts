import { dueMsOf } from "../eviction.ts";
import { highestNumberIn } from "../names.ts";
import type { VariableInfo } from "../variable.ts";
import type { Call, Entry, Lookups, Totals } from "./rows.ts";

/** Finds entries in a map that the rows keep up to date. Its order does not matter. */
export class MapLookups implements Lookups {
  readonly #read: () => ReadonlyMap<string, Entry>;

  constructor(read: () => ReadonlyMap<string, Entry>) {
    this.#read = read;
  }

  get #entries(): ReadonlyMap<string, Entry> {
    return this.#read();
  }

  entry(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  newest(limit: number): readonly Entry[] {
    const all = [...this.#entries.values()].sort((one, other) => one.seq - other.seq);
    return all.slice(Math.max(all.length - limit, 0));
  }

  following(seq: number, limit: number): readonly Entry[] {
    return this.#where((entry) => entry.seq > seq).slice(0, limit);
  }

  dueBy(nowMs: number, idleMs: number): readonly Entry[] {
    return this.#where((entry) => dueMsOf(entry, idleMs) <= nowMs);
  }

  nextDueMs(idleMs: number, except: ReadonlySet<string>): number {
    let next = Infinity;
    for (const entry of this.#entries.values()) {
      if (!except.has(entry.name)) next = Math.min(next, dueMsOf(entry, idleMs));
    }
    return next;
  }

  ofRuns(): readonly Entry[] {
    return this.#where(({ run }) => run !== undefined);
  }

  ofCall(_: string, call: Call): readonly Entry[] {
    return this.#where(
      ({ tool, inputDigest }) => tool === call.tool && inputDigest === call.inputDigest,
    );
  }

  totals(): Totals {
    const totals = { count: 0, bytes: 0, ofRuns: 0, lastAccessMs: 0, newestSeq: 0 };
    for (const { bytes, run, accessedAtMs, seq } of this.#entries.values()) {
      totals.count++;
      totals.bytes += bytes;
      if (run !== undefined) totals.ofRuns++;
      totals.lastAccessMs = Math.max(totals.lastAccessMs, accessedAtMs);
      totals.newestSeq = Math.max(totals.newestSeq, seq);
    }
    return totals;
  }

  highestNumber(base: string): number {
    return highestNumberIn(this.#entries.keys(), base);
  }

  couldBegin(prefix: string): boolean {
    for (const name of this.#entries.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  /** Oldest first. */
  #where(matches: (entry: Entry) => boolean): readonly Entry[] {
    return this.newest(Infinity).filter(matches);
  }
}

/** Returns the entry after a change of its metadata. */
export function changedEntry(entry: Entry, { pinned, expiresAt }: VariableInfo): Entry {
  const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
  return { ...entry, pinned, expiresAtMs };
}

/** Returns the entries that exist with their new access times, in milliseconds since 1970, by name. */
export function touchedEntries(
  entries: ReadonlyMap<string, Entry>,
  times: ReadonlyMap<string, number>,
): readonly Entry[] {
  return Array.from(times).flatMap(([name, accessedAtMs]) => {
    const entry = entries.get(name);
    return entry === undefined ? [] : { ...entry, accessedAtMs, writtenAccessMs: accessedAtMs };
  });
}
