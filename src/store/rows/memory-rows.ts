import { copyOf } from "../../value/bytes.ts";
import * as limits from "../../limits.ts";
import { byteLength } from "../../value/encoding.ts";
import type { Stored } from "../bytes/content.ts";
import type { Entry, Row, Rows } from "./rows.ts";
import { MemoryChunks } from "../bytes/chunks.ts";
import { MemoryGarbage } from "../bytes/garbage.ts";
import { changedEntry, MapLookups, touchedEntries } from "./map-lookups.ts";
import { Undo, UndoableMap } from "./undo.ts";
import { MemoryVersions } from "./versions.ts";
import type { Tombstone, VariableInfo } from "../variable.ts";

/** Variables in the memory of this process. They are lost with it. */
export class MemoryRows implements Rows {
  readonly #undo = new Undo();
  readonly chunks = new MemoryChunks(this.#undo);
  readonly garbage = new MemoryGarbage(this.#undo);
  readonly versions = new MemoryVersions(this.#undo);
  readonly #entries = new UndoableMap<string, Entry>(this.#undo);
  readonly find = new MapLookups(() => this.#entries);
  readonly #rows = new UndoableMap<string, Omit<Row, "entry">>(this.#undo);
  readonly #tombstones = new UndoableMap<string, OrderedTombstone>(this.#undo);
  #lastOrder = 0;
  #numbers: Readonly<Record<string, number>> = {};

  info(name: string): VariableInfo | undefined {
    return this.#rows.get(name)?.info;
  }

  listed(names: readonly string[]): readonly VariableInfo[] {
    return [...new Set(names)].flatMap((name) => {
      const info = this.#rows.get(name)?.info;
      if (info?.input === undefined) return info ?? [];
      const isLong = byteLength(JSON.stringify(info.input)) > limits.maxListedInputBytes;
      if (!isLong) return info;
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
    this.#rows.set(entry.name, { info, stored });
    this.#entries.set(entry.name, entry);
  }

  change(info: VariableInfo): void {
    const row = this.#rows.get(info.name);
    const entry = this.#entries.get(info.name);
    if (row === undefined || entry === undefined) return;
    this.#rows.set(info.name, { ...row, info });
    this.#entries.set(info.name, changedEntry(entry, info));
  }

  remove(name: string): void {
    this.#rows.delete(name);
    this.#entries.delete(name);
  }

  touch(times: ReadonlyMap<string, number>): void {
    for (const entry of touchedEntries(this.#entries, times)) this.#entries.set(entry.name, entry);
  }

  tombstones(): readonly Tombstone[] {
    // A restored tombstone is at the end of the Map.
    return [...this.#tombstones.values()]
      .sort((one, other) => one.order - other.order)
      .map(({ tombstone }) => tombstone);
  }

  addTombstone(tombstone: Tombstone): void {
    this.#lastOrder++;
    this.#tombstones.set(tombstone.name, { tombstone, order: this.#lastOrder });
  }

  removeTombstone(name: string): void {
    this.#tombstones.delete(name);
  }

  numbers(): Readonly<Record<string, number>> {
    return this.#numbers;
  }

  saveNumbers(numbers: Readonly<Record<string, number>>): void {
    const before = this.#numbers;
    this.#undo.record(() => {
      this.#numbers = before;
    });
    this.#numbers = numbers;
  }

  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    return this.#undo.during<Result>(work);
  }

  forget(): void {
    // Nothing is cached: the rows are the only copy.
  }
}

interface OrderedTombstone {
  readonly tombstone: Tombstone;
  /** Increases with each added tombstone. */
  readonly order: number;
}
