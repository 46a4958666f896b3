import { copyOf, joinBytes } from "../value/bytes.ts";
import type { Stored, StoredBody } from "./bytes/content.ts";
import { isListed } from "./metadata.ts";
import type { Tombstone, VariableInfo } from "./variable.ts";
import type { StoreOptions } from "./store-state.ts";
import { VariableStore } from "./variables.ts";
import type { Chunks, Entry, Key, KeptVersion, Row, Rows, Table } from "./rows/rows.ts";

/** Variables in the memory of this process: for Node, tests and `withToolVariables`. */
export class MemoryStore extends VariableStore {
  constructor(options: StoreOptions = {}) {
    super(new MemoryRows(), options);
  }
}

/** Rows of one kind. `undo` receives what takes back each change. */
class MemoryTable<Kind> implements Table<Kind> {
  readonly #rows = new Map<string, { readonly row: Kind; readonly age: number }>();
  readonly #undo: (takeBack: () => void) => void;
  #newest = 0;

  constructor(undo: (takeBack: () => void) => void) {
    this.#undo = undo;
  }

  all(): readonly Kind[] {
    const rows = [...this.#rows.values()].sort((one, other) => one.age - other.age);
    return rows.map(({ row }) => row);
  }

  get(key: Key): Kind | undefined {
    return this.#rows.get(textOf(key))?.row;
  }

  put(key: Key, row: Kind): void {
    this.#set(textOf(key), { row, age: ++this.#newest });
  }

  remove(key: Key): void {
    this.#set(textOf(key), undefined);
  }

  #set(key: string, row: { readonly row: Kind; readonly age: number } | undefined): void {
    const before = this.#rows.get(key);
    this.#undo(() => (before ? this.#rows.set(key, before) : this.#rows.delete(key)));
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
  }
}

function textOf(key: Key): string {
  return Object.values(key).join(" ");
}

interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Rows that are lost with the process. Cost of a transaction: linear in what it changes. */
class MemoryRows implements Rows {
  /** What takes back the changes of the open transaction, newest last. */
  #undo: (() => void)[] | undefined;
  readonly #onChange = (takeBack: () => void) => void this.#undo?.push(takeBack);
  readonly #rows = new MemoryTable<Row>(this.#onChange);
  readonly #chunks = new MemoryTable<readonly Chunk[]>(this.#onChange);
  readonly #numbers = new MemoryTable<Readonly<Record<string, number>>>(this.#onChange);
  readonly garbage = new MemoryTable<StoredBody>(this.#onChange);
  readonly versions = new MemoryTable<KeptVersion>(this.#onChange);
  readonly tombstones = new MemoryTable<Tombstone>(this.#onChange);

  readonly chunks: Chunks = {
    write: (id, start, bytes) => {
      const before = this.#chunks.get({ id }) ?? [];
      this.#chunks.put({ id }, [...before, { start, bytes: copyOf(bytes) }]);
    },
    read: (id, from, to) => {
      const parts = (this.#chunks.get({ id }) ?? []).map(({ start, bytes }) =>
        bytes.subarray(Math.max(from - start, 0), Math.max(to - start, 0)),
      );
      // A copy, so that readers cannot change the stored bytes.
      return joinBytes(parts).slice();
    },
    remove: (id) => this.#chunks.remove({ id }),
  };

  entries(): readonly Entry[] {
    const entries = this.#rows.all().map(({ entry }) => entry);
    // A row of changed metadata is newer than its value.
    return entries.sort((one, other) => one.seq - other.seq);
  }

  info(name: string): VariableInfo | undefined {
    return this.#rows.get({ name })?.info;
  }

  listed(names: readonly string[]): readonly VariableInfo[] {
    return [...new Set(names)].flatMap((name) => {
      const info = this.info(name);
      if (info === undefined || isListed(info.input)) return info ?? [];
      const { input: _, ...rest } = info;
      return rest;
    });
  }

  stored(name: string): Stored | undefined {
    return this.#rows.get({ name })?.stored;
  }

  put({ entry, info, stored: given }: Row): void {
    const { body } = given;
    const stored = body instanceof Uint8Array ? { ...given, body: copyOf(body) } : given;
    this.#rows.put({ name: entry.name }, { entry, info, stored });
  }

  change(info: VariableInfo, entry: Entry): void {
    this.#change({ info, entry });
  }

  remove(name: string): void {
    this.#rows.remove({ name });
  }

  touch(entries: readonly Entry[]): void {
    for (const entry of entries) this.#change({ entry });
  }

  numbers(): Readonly<Record<string, number>> {
    return this.#numbers.get({}) ?? {};
  }

  saveNumbers(numbers: Readonly<Record<string, number>>): void {
    this.#numbers.put({}, numbers);
  }

  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    if (this.#undo !== undefined) return work();
    const undo: (() => void)[] = [];
    this.#undo = undo;
    try {
      return work();
    } catch (error) {
      for (const takeBack of undo.reverse()) takeBack();
      throw error;
    } finally {
      this.#undo = undefined;
    }
  }

  forget(): void {
    // Nothing is cached: the rows are the only copy.
  }

  #change(changed: Partial<Row> & Pick<Row, "entry">): void {
    const { name } = changed.entry;
    const row = this.#rows.get({ name });
    if (row !== undefined) this.#rows.put({ name }, { ...row, ...changed });
  }
}
