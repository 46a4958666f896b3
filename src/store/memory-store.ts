import { copyOf, joinBytes } from "../value/bytes.ts";
import type { Chunks } from "./bytes/chunks.ts";
import type { Stored, StoredBody } from "./bytes/content.ts";
import type { Garbage } from "./bytes/garbage.ts";
import { isListed } from "./metadata.ts";
import type { Tombstone, VariableInfo } from "./variable.ts";
import type { StoreOptions } from "./store-state.ts";
import { VariableStore } from "./variables.ts";
import type { Entry, KeptVersion, Row, Rows, Versions } from "./rows/rows.ts";

interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Variables in the memory of this process: for Node, tests and `withToolVariables`. */
export class MemoryStore extends VariableStore {
  constructor(options: StoreOptions = {}) {
    super(new MemoryRows(), options);
  }
}

/** Rows that are lost with the process. Cost of a transaction: linear in what it changes. */
class MemoryRows implements Rows {
  readonly #rows = new Map<string, Row>();
  readonly #chunks = new Map<string, readonly Chunk[]>();
  readonly #garbage = new Map<string, StoredBody>();
  readonly #versions = new Map<string, KeptVersion>();
  /** By name, with a number that is greater for a newer one. */
  readonly #tombstones = new Map<string, { readonly tombstone: Tombstone; readonly age: number }>();
  #newest = 0;
  readonly #meta = new Map<"numbers", Readonly<Record<string, number>>>();
  /** What takes back the changes of the open transaction, newest last. */
  #undo: (() => void)[] | undefined;

  readonly chunks: Chunks = {
    write: (id, start, bytes) => {
      const before = this.#chunks.get(id) ?? [];
      this.#set(this.#chunks, id, [...before, { start, bytes: copyOf(bytes) }]);
    },
    read: (id, from, to) => {
      const parts = (this.#chunks.get(id) ?? []).map(({ start, bytes }) =>
        bytes.subarray(Math.max(from - start, 0), Math.max(to - start, 0)),
      );
      // A copy, so that readers cannot change the stored bytes.
      return joinBytes(parts).slice();
    },
    remove: (id) => this.#set(this.#chunks, id, undefined),
  };

  readonly garbage: Garbage = {
    add: (body) => this.#set(this.#garbage, body.id, body),
    remove: (id) => this.#set(this.#garbage, id, undefined),
    has: (id) => this.#garbage.has(id),
    all: () => [...this.#garbage.values()],
  };

  readonly versions: Versions = {
    all: () =>
      [...this.#versions.values()]
        .map(({ info: { name, version }, stored: { bytes }, isUndone }) => {
          return { name, version, bytes, isUndone };
        })
        .sort((one, other) => one.version - other.version),
    get: (name, version) => this.#versions.get(`${name} ${version}`),
    add: (kept) => this.#set(this.#versions, `${kept.info.name} ${kept.info.version}`, kept),
    remove: (name, version) => this.#set(this.#versions, `${name} ${version}`, undefined),
  };

  entries(): readonly Entry[] {
    return Array.from(this.#rows.values(), ({ entry }) => entry).sort(
      (one, other) => one.seq - other.seq,
    );
  }

  info(name: string): VariableInfo | undefined {
    return this.#rows.get(name)?.info;
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
    return this.#rows.get(name)?.stored;
  }

  put({ entry, info, stored: given }: Row): void {
    const { body } = given;
    const stored = body instanceof Uint8Array ? { ...given, body: copyOf(body) } : given;
    this.#set(this.#rows, entry.name, { entry, info, stored });
  }

  change(info: VariableInfo): void {
    const { pinned, expiresAt } = info;
    const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
    this.#change(info.name, ({ entry }) => ({ info, entry: { ...entry, pinned, expiresAtMs } }));
  }

  remove(name: string): void {
    this.#set(this.#rows, name, undefined);
  }

  touch(entries: readonly Entry[]): void {
    for (const { name, accessedAtMs } of entries) {
      const times = { accessedAtMs, writtenAccessMs: accessedAtMs };
      this.#change(name, ({ entry }) => ({ entry: { ...entry, ...times } }));
    }
  }

  tombstones(): readonly Tombstone[] {
    const all = [...this.#tombstones.values()].sort((one, other) => one.age - other.age);
    return all.map(({ tombstone }) => tombstone);
  }

  addTombstone(tombstone: Tombstone): void {
    this.#set(this.#tombstones, tombstone.name, { tombstone, age: ++this.#newest });
  }

  removeTombstone(name: string): void {
    this.#set(this.#tombstones, name, undefined);
  }

  numbers(): Readonly<Record<string, number>> {
    return this.#meta.get("numbers") ?? {};
  }

  saveNumbers(numbers: Readonly<Record<string, number>>): void {
    this.#set(this.#meta, "numbers", numbers);
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

  /** Without a value, removes the entry. */
  #set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | undefined): void {
    const before = map.get(key);
    const put = (one: Value | undefined) =>
      void (one === undefined ? map.delete(key) : map.set(key, one));
    this.#undo?.push(() => put(before));
    put(value);
  }

  #change(name: string, change: (row: Row) => Partial<Row>): void {
    const row = this.#rows.get(name);
    if (row !== undefined) this.#set(this.#rows, name, { ...row, ...change(row) });
  }
}
