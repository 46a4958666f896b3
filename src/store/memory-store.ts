import * as limits from "../limits.ts";
import { copyOf } from "../value/bytes.ts";
import { byteLength } from "../value/encoding.ts";
import { bytesIn, type Chunk, type Chunks } from "./bytes/chunks.ts";
import type { Stored, StoredBody } from "./bytes/content.ts";
import type { Garbage } from "./bytes/garbage.ts";
import { changedEntry } from "./metadata.ts";
import type { Tombstone, VariableInfo } from "./variable.ts";
import { type StoreOptions, VariableStore } from "./variables.ts";
import type { Entry, KeptVersion, Row, Rows, Versions } from "./rows/rows.ts";

/** Variables in the memory of this process: for Node, tests and `withToolVariables`. */
export class MemoryStore extends VariableStore {
  constructor(options: StoreOptions = {}) {
    super(new MemoryRows(), options);
  }
}

/** What a rollback restores. */
interface State {
  readonly rows: Map<string, Row>;
  readonly tombstones: Map<string, Tombstone>;
  readonly chunks: Map<string, readonly Chunk[]>;
  readonly garbage: Map<string, StoredBody>;
  readonly versions: Map<string, KeptVersion>;
  numbers: Readonly<Record<string, number>>;
}

/** Rows that are lost with the process. Cost of a transaction: linear in their number. */
class MemoryRows implements Rows {
  #state: State = {
    rows: new Map(),
    tombstones: new Map(),
    chunks: new Map(),
    garbage: new Map(),
    versions: new Map(),
    numbers: {},
  };
  #isOpen = false;

  readonly chunks: Chunks = {
    write: (id, start, bytes) => {
      const { chunks } = this.#state;
      chunks.set(id, [...(chunks.get(id) ?? []), { start, bytes: copyOf(bytes) }]);
    },
    // A copy, so that readers cannot change the stored bytes.
    read: (id, from, to) => bytesIn(this.#state.chunks.get(id) ?? [], from, to).slice(),
    remove: (id) => void this.#state.chunks.delete(id),
  };

  readonly garbage: Garbage = {
    add: (body) => void this.#state.garbage.set(body.id, body),
    remove: (id) => void this.#state.garbage.delete(id),
    has: (id) => this.#state.garbage.has(id),
    all: () => [...this.#state.garbage.values()],
  };

  readonly versions: Versions = {
    all: () =>
      [...this.#state.versions.values()]
        .map(({ info: { name, version }, stored: { bytes }, isUndone }) => {
          return { name, version, bytes, isUndone };
        })
        .sort((one, other) => one.version - other.version),
    get: (name, version) => this.#state.versions.get(`${name} ${version}`),
    add: (kept) => void this.#state.versions.set(`${kept.info.name} ${kept.info.version}`, kept),
    remove: (name, version) => void this.#state.versions.delete(`${name} ${version}`),
    forget: () => undefined,
  };

  entries(): readonly Entry[] {
    return Array.from(this.#state.rows.values(), ({ entry }) => entry).sort(
      (one, other) => one.seq - other.seq,
    );
  }

  info(name: string): VariableInfo | undefined {
    return this.#state.rows.get(name)?.info;
  }

  listed(names: readonly string[]): readonly VariableInfo[] {
    return [...new Set(names)].flatMap((name) => {
      const info = this.info(name);
      if (info?.input === undefined) return info ?? [];
      const isLong = byteLength(JSON.stringify(info.input)) > limits.maxListedInputBytes;
      if (!isLong) return info;
      const { input: _, ...rest } = info;
      return rest;
    });
  }

  stored(name: string): Stored | undefined {
    return this.#state.rows.get(name)?.stored;
  }

  put({ entry, info, stored: given }: Row): void {
    const { body } = given;
    const stored = body instanceof Uint8Array ? { ...given, body: copyOf(body) } : given;
    this.#state.rows.set(entry.name, { entry, info, stored });
  }

  change(info: VariableInfo): void {
    this.#change(info.name, (row) => ({ ...row, info, entry: changedEntry(row.entry, info) }));
  }

  remove(name: string): void {
    this.#state.rows.delete(name);
  }

  touch(times: ReadonlyMap<string, number>): void {
    for (const [name, accessedAtMs] of times) {
      this.#change(name, ({ entry, ...row }) => {
        return { ...row, entry: { ...entry, accessedAtMs, writtenAccessMs: accessedAtMs } };
      });
    }
  }

  tombstones(): readonly Tombstone[] {
    return [...this.#state.tombstones.values()];
  }

  addTombstone(tombstone: Tombstone): void {
    this.removeTombstone(tombstone.name);
    this.#state.tombstones.set(tombstone.name, tombstone);
  }

  removeTombstone(name: string): void {
    this.#state.tombstones.delete(name);
  }

  numbers(): Readonly<Record<string, number>> {
    return this.#state.numbers;
  }

  saveNumbers(numbers: Readonly<Record<string, number>>): void {
    this.#state.numbers = numbers;
  }

  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    if (this.#isOpen) return work();
    const before = this.#state;
    this.#isOpen = true;
    this.#state = {
      rows: new Map(before.rows),
      tombstones: new Map(before.tombstones),
      chunks: new Map(before.chunks),
      garbage: new Map(before.garbage),
      versions: new Map(before.versions),
      numbers: before.numbers,
    };
    try {
      return work();
    } catch (error) {
      this.#state = before;
      throw error;
    } finally {
      this.#isOpen = false;
    }
  }

  forget(): void {
    // Nothing is cached: the rows are the only copy.
  }

  #change(name: string, change: (row: Row) => Row): void {
    const row = this.#state.rows.get(name);
    if (row !== undefined) this.#state.rows.set(name, change(row));
  }
}
