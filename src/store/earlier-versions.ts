import type { Path, Reading } from "../value/path.ts";
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
  #all: readonly KeptGlance[] | undefined;

  constructor(rows: Rows, values: StoredValues, most: number) {
    this.#rows = rows;
    this.#values = values;
    this.#most = most;
  }

  /** Oldest first, of each name. Read once, until a change is rolled back. */
  get all(): readonly KeptGlance[] {
    return (this.#all ??= this.#rows.versions.all());
  }

  /** The size of all of them. */
  get bytes(): number {
    return this.all.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  of(name: string): readonly KeptGlance[] {
    return this.all.filter((one) => one.name === name);
  }

  /** The version that an undo restores. */
  undoable(name: string): KeptVersion | undefined {
    const newest = this.of(name).findLast(({ isUndone }) => !isUndone);
    return newest && this.#rows.versions.get({ name, version: newest.version });
  }

  /** Keeps a version, and drops the oldest ones of its variable. Its body must not be released. */
  add({ info, stored, isUndone }: Pick<KeptVersion, "info" | "stored" | "isUndone">): void {
    if (this.#most === 0) return this.#values.bodies.release(stored.body);
    const { name, version } = info;
    const glance = { name, version, bytes: stored.bytes, isUndone };
    this.#all = [...this.all, glance];
    this.#rows.versions.put({ name, version }, { ...glance, info, stored });
    this.drop(this.of(name).slice(0, -this.#most));
  }

  /** Removes a version whose body belongs to the variable again. */
  take({ name, version }: KeptGlance): void {
    this.#all = this.all.filter((one) => one.name !== name || one.version !== version);
    this.#rows.versions.remove({ name, version });
  }

  drop(versions: readonly KeptGlance[]): void {
    for (const { name, version } of versions) {
      const kept = this.#rows.versions.get({ name, version });
      if (kept === undefined) continue;
      this.#values.bodies.release(kept.stored.body);
      this.take(kept);
    }
  }

  /** Drops versions until `bytes` are free, or none is left. */
  makeRoom(bytes: number): void {
    let left = bytes;
    for (const one of this.all) {
      if (left <= 0) return;
      this.drop([one]);
      left -= one.bytes;
    }
  }

  /** Opens a version for reading. */
  earlier(name: string, version: number): EarlierVersion | undefined {
    const kept = this.#rows.versions.get({ name, version });
    if (kept === undefined) return undefined;
    const { info, stored } = kept;
    const value = () => new StoredValue(stored, this.#values);
    return {
      info,
      open: () => value().open(info),
      read: () => value().whole(name),
      readPath: (path) => value().readPath(path, name),
    };
  }

  forget(): void {
    this.#all = undefined;
  }
}
