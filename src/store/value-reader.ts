import type { Json } from "../value/json.ts";
import { type Path, type Reading, readPath } from "../value/path.ts";
import { Work } from "../value/work.ts";
import { readPart, readWhole, selectsPart, type Source } from "./bytes/read-part.ts";
import type { Stored } from "./bytes/content.ts";
import type { Entry } from "./rows/rows.ts";
import type { StoreState } from "./store-state.ts";

/** Reads the values of stored variables, whole or in parts. */
export class ValueReader {
  readonly #state: StoreState;

  constructor(state: StoreState) {
    this.#state = state;
  }

  /** Returns what is at a path of the value. Large arrays and texts are loaded in parts. */
  async readPath(entry: Entry, path: Path, work = new Work()): Promise<Reading | undefined> {
    const cached = this.#state.cache.get(entry.name);
    if (cached !== undefined) return readPath(cached, path, work);
    const stored = this.#state.rows.stored(entry.name);
    if (stored === undefined) return undefined;
    if (selectsPart(stored, path)) {
      return this.#holding({ stored, work }, (source) => readPart(source, path));
    }
    return readPath(await this.#load(entry, stored, work), path, work);
  }

  /** Loads the whole value and caches it. */
  async #load(entry: Entry, stored: Stored, work: Work): Promise<Json> {
    // The records of a table may be longer than its bytes.
    const size = Math.max(stored.bytes, entry.chars);
    this.#state.cache.makeRoom(size);
    const value = await this.#holding({ stored, work }, (source) => readWhole(entry.name, source));
    // A new version may have been written meanwhile.
    const isCurrent = this.#state.index.get(entry.name)?.seq === entry.seq;
    if (isCurrent) this.#state.cache.set(entry.name, value, size);
    return value;
  }

  /** Reads a body and protects it from the sweep until it is read. */
  async #holding<Result>(
    { stored, work }: Pick<Source, "stored" | "work">,
    use: (source: Source) => Promise<Result>,
  ): Promise<Result> {
    const release = this.#state.bodies.hold(stored.body);
    try {
      const read = async (from: number, to: number) => {
        work.spend(to - from);
        return this.#state.bodies.read(stored.body, from, to);
      };
      return await use({ stored, csv: this.#state.csv, work, read });
    } finally {
      release();
    }
  }
}
