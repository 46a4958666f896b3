import { type Path, type Reading, readPath } from "../value/path.ts";
import type { Json } from "../value/json.ts";
import { StoredValue, type StoredValues } from "./bytes/read-part.ts";
import type { KeptGlance, KeptVersion, Rows } from "./rows/rows.ts";
import type { OpenValue, VariableInfo } from "./variable.ts";

/** A replaced value that is still kept. */
export interface EarlierVersion {
  readonly info: VariableInfo;
  open(): OpenValue;
  read(): Promise<Json>;
  readPath(path: Path): Promise<Reading>;
}

/** The earlier versions of a store's variables. Call methods that change something in a transaction. */
export class EarlierVersions {
  readonly #rows: Rows;
  readonly #values: StoredValues;
  /** Versions that are kept of each variable. */
  readonly #most: number;

  constructor(rows: Rows, values: StoredValues, most: number) {
    this.#rows = rows;
    this.#values = values;
    this.#most = most;
  }

  /** The size of all of them. */
  get bytes(): number {
    return this.#rows.versions.all().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  of(name: string): readonly KeptGlance[] {
    return this.#rows.versions.all().filter((one) => one.name === name);
  }

  get(name: string, version: number): KeptVersion | undefined {
    return this.#rows.versions.get(name, version);
  }

  /** The version that an undo restores. */
  undoable(name: string): KeptVersion | undefined {
    const newest = this.of(name).findLast(({ isUndone }) => !isUndone);
    return newest && this.get(name, newest.version);
  }

  /** Keeps a version, and drops the oldest ones of its variable. Its body must not be released. */
  add(kept: KeptVersion): void {
    if (this.#most === 0) return this.#values.bodies.release(kept.stored.body);
    this.#rows.versions.add(kept);
    const { name } = kept.info;
    for (const { version } of this.of(name).slice(0, -this.#most)) this.drop(name, version);
  }

  drop(name: string, version: number): void {
    const kept = this.get(name, version);
    if (kept === undefined) return;
    this.#values.bodies.release(kept.stored.body);
    this.#rows.versions.remove(name, version);
  }

  dropAll(name: string): void {
    for (const { version } of this.of(name)) this.drop(name, version);
  }

  /** Drops versions until `bytes` are free, or none is left. */
  makeRoom(bytes: number): void {
    let left = bytes;
    for (const one of this.#rows.versions.all()) {
      if (left <= 0) return;
      this.drop(one.name, one.version);
      left -= one.bytes;
    }
  }

  /** Opens a version for reading. */
  earlier(name: string, version: number): EarlierVersion | undefined {
    const kept = this.get(name, version);
    if (kept === undefined) return undefined;
    const { info, stored } = kept;
    const value = () => new StoredValue(stored, this.#values);
    return {
      info,
      open: () => value().open(info),
      read: () => value().whole(name),
      readPath: async (path) =>
        value().hasPart(path) ? value().part(path) : readPath(await value().whole(name), path),
    };
  }
}
