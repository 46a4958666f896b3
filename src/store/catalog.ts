import type { VariableInfo, Visibility } from "./variable-store.ts";

/** What is kept in memory of each variable, to find it, to order it and to evict it. */
export interface Entry {
  readonly name: string;
  /** Orders the variables: the greatest was written last. */
  readonly seq: number;
  readonly version: number;
  readonly type: VariableInfo["type"];
  readonly bytes: number;
  readonly chars: number;
  readonly createdAtMs: number;
  readonly accessedAtMs: number;
  /** The same as its row has it. */
  readonly writtenAccessMs: number;
  readonly expiresAtMs: number | undefined;
  readonly pinned: boolean;
  readonly visibility: Visibility;
  readonly run: string | undefined;
  readonly tool: string | undefined;
  readonly inputDigest: string | undefined;
}

/** Writes of one moment stay behind those of the next, and a seq has at most 15 digits. */
const SEQS_PER_MS = 100;

/** All variables of a conversation by name and by age. Some 200 bytes of memory for each. */
export class Catalog {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #entries: Map<string, Entry>;
  /** Made when somebody first asks: most conversations never do. */
  #sortedNames: SortedNames | undefined;
  /** The entries as an array, until one changes. */
  #ordered: readonly Entry[] | undefined;
  #bytes = 0;
  #newestSeq: number;

  /** The entries come in any order; every seq that is given is greater than `newestSeq`. */
  constructor(entries: Iterable<Entry>, newestSeq = 0) {
    const ordered = [...entries].sort((one, other) => one.seq - other.seq);
    this.#entries = new Map();
    for (const entry of ordered) {
      this.#entries.set(entry.name, entry);
      this.#bytes += entry.bytes;
    }
    this.#newestSeq = Math.max(newestSeq, ordered.at(-1)?.seq ?? 0);
    this.#ordered = ordered;
  }

  get #names(): SortedNames {
    this.#sortedNames ??= new SortedNames(this.#entries.keys());
    return this.#sortedNames;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** All values together. */
  get bytes(): number {
    return this.#bytes;
  }

  get newestSeq(): number {
    return this.#newestSeq;
  }

  /** Greater than every other; by the clock, so that it is so after deletes and a new start as well. */
  nextSeq(nowMs: number): number {
    this.#newestSeq = Math.max(this.#newestSeq + 1, Math.trunc(nowMs) * SEQS_PER_MS);
    return this.#newestSeq;
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  /** Oldest first. */
  values(): readonly Entry[] {
    this.#ordered ??= [...this.#entries.values()];
    return this.#ordered;
  }

  /** The last `count` of those that are accepted, oldest first. */
  newest(count: number, accepts: (entry: Entry) => boolean): readonly Entry[] {
    const entries = this.values();
    const found: Entry[] = [];
    for (let index = entries.length - 1; index >= 0 && found.length < count; index--) {
      const entry = entries[index];
      if (entry !== undefined && accepts(entry)) found.push(entry);
    }
    return found.reverse();
  }

  /** A new entry, or one that moves to newest. */
  put(entry: Entry): void {
    this.delete(entry.name);
    this.#entries.set(entry.name, entry);
    this.#ordered = undefined;
    this.#sortedNames?.add(entry.name);
    this.#bytes += entry.bytes;
  }

  /** Keeps its place; the bytes stay as they are. */
  change(name: string, changes: Partial<Omit<Entry, "name" | "seq" | "bytes">>): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.set(name, { ...entry, ...changes });
    this.#ordered = undefined;
  }

  delete(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#ordered = undefined;
    this.#sortedNames?.delete(name);
    this.#bytes -= entry.bytes;
  }

  couldBegin(prefix: string): boolean {
    return this.#names.from(prefix)?.startsWith(prefix) ?? false;
  }

  /** Those whose names start so. */
  startingWith(prefix: string): readonly Entry[] {
    return this.#names.startingWith(prefix).flatMap((name) => this.#entries.get(name) ?? []);
  }
}

/** Names in order. A change costs one move of what stands behind it, a question two dozen steps. */
class SortedNames {
  readonly #names: string[];

  constructor(names: Iterable<string>) {
    this.#names = [...names].sort();
  }

  add(name: string): void {
    this.#names.splice(this.#indexFrom(name), 0, name);
  }

  delete(name: string): void {
    this.#names.splice(this.#indexFrom(name), 1);
  }

  /** The first that is this text or comes after it. */
  from(text: string): string | undefined {
    return this.#names[this.#indexFrom(text)];
  }

  startingWith(prefix: string): readonly string[] {
    const found: string[] = [];
    for (let index = this.#indexFrom(prefix); index < this.#names.length; index++) {
      const name = this.#names[index];
      if (name === undefined || !name.startsWith(prefix)) break;
      found.push(name);
    }
    return found;
  }

  #indexFrom(text: string): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#names[middle] ?? "") < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
