import { copyOf } from "../../value/bytes.ts";
import * as limits from "../../limits.ts";
import { byteLength } from "../../value/encoding.ts";
import type { Stored } from "../bytes/content.ts";
import type { Entry, Row, Rows } from "./rows.ts";
import { MemoryChunks } from "../bytes/chunks.ts";
import { MemoryGarbage } from "../bytes/garbage.ts";
import { changedEntry } from "../metadata.ts";
import { Undo, UndoableMap } from "./undo.ts";
import { MemoryVersions } from "./versions.ts";
import type { Tombstone, VariableInfo } from "../variable.ts";

/** Variables in the memory of this process. They are lost with it. */
export class MemoryRows implements Rows {
  readonly #undo = new Undo();
  readonly chunks = new MemoryChunks(this.#undo);
  readonly garbage = new MemoryGarbage(this.#undo);
  readonly versions = new MemoryVersions(this.#undo);
  readonly #rows = new UndoableMap<string, Row>(this.#undo);
  readonly #tombstones = new UndoableMap<string, OrderedTombstone>(this.#undo);
  #lastOrder = 0;
  #numbers: Readonly<Record<string, number>> = {};

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
    this.#rows.set(entry.name, { entry, info, stored });
  }

  change(info: VariableInfo): void {
    const row = this.#rows.get(info.name);
    if (row === undefined) return;
    this.#rows.set(info.name, { ...row, info, entry: changedEntry(row.entry, info) });
  }

  remove(name: string): void {
    this.#rows.delete(name);
  }

  touch(times: ReadonlyMap<string, number>): void {
    for (const [name, accessedAtMs] of times) {
      const row = this.#rows.get(name);
      if (row === undefined) continue;
      const entry = { ...row.entry, accessedAtMs, writtenAccessMs: accessedAtMs };
      this.#rows.set(name, { ...row, entry });
    }
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
