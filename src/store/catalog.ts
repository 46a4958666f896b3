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

/** All variables of a conversation by name and by age. Some 200 bytes of memory for each. */
export class Catalog {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #entries: Map<string, Entry>;
  readonly #names: SortedNames;
  #bytes = 0;
  #newestSeq: number;

  /** The entries come in any order; every seq that is given is greater than `newestSeq`. */
  constructor(entries: Iterable<Entry>, newestSeq = 0) {
    this.#newestSeq = newestSeq;
    const ordered = [...entries].sort((one, other) => one.seq - other.seq);
    this.#entries = new Map(ordered.map((entry) => [entry.name, entry]));
    this.#names = new SortedNames(this.#entries.keys());
    for (const { bytes, seq } of ordered) {
      this.#bytes += bytes;
      this.#newestSeq = Math.max(this.#newestSeq, seq);
    }
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

  /** Greater than every other, also after deletes. */
  nextSeq(): number {
    this.#newestSeq++;
    return this.#newestSeq;
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  /** Oldest first. */
  values(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** A new entry, or one that moves to newest. */
  put(entry: Entry): void {
    this.delete(entry.name);
    this.#entries.set(entry.name, entry);
    this.#names.add(entry.name);
    this.#bytes += entry.bytes;
  }

  /** Keeps its place; the bytes stay as they are. */
  change(name: string, changes: Partial<Omit<Entry, "name" | "seq" | "bytes">>): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) this.#entries.set(name, { ...entry, ...changes });
  }

  delete(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#names.delete(name);
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
