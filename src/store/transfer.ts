import { isStored } from "./bytes/bodies.ts";
import type { About, Content } from "./bytes/content.ts";
import { requireName } from "./names.ts";
import type { StoreState } from "./store-state.ts";
import type { Awaitable, Tombstone, VariableInfo } from "./variable-store.ts";
import type { Writer } from "./writer.ts";

/** A variable as another store takes it, without its value. */
export interface VariableRecord {
  /** Without what the value tells. */
  readonly info: Omit<VariableInfo, keyof About | "accessedAt" | "scope" | "location">;
  /** The run with which it ends. */
  readonly run?: string;
  /** Of the call that made it: that call made again gets its name. */
  readonly inputDigest?: string;
}

/** A variable that leaves: its bytes are as they are until it is closed. */
export interface Departure extends VariableRecord {
  readonly info: VariableInfo;
  /** The bytes from `from` to before `to`. */
  read(from: number, to: number): Awaitable<Uint8Array>;
  close(): void;
}

/** What is known of names beside the variables themselves. */
export interface NameRecords {
  /** Oldest first. */
  readonly tombstones: readonly Tombstone[];
  /** The highest numbers that names have used, by base. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** All variables of a store, one after the other, on the way into another one. */
export class Transfer {
  readonly #state: StoreState;
  readonly #writer: Writer;

  constructor(state: StoreState, writer: Writer) {
    this.#state = state;
    this.#writer = writer;
  }

  /** Oldest first, without those whose time is over. */
  names(): readonly string[] {
    const { catalog } = this.#state;
    return catalog.values().flatMap(({ name }) => this.#state.alive(name)?.name ?? []);
  }

  nameRecords(): NameRecords {
    const { tombstones, numbers } = this.#state;
    return { tombstones: [...tombstones.values()], numbers: numbers.toJSON() };
  }

  /** Not an access. Undefined for what does not exist (any more). Close it. */
  open(name: string): Departure | undefined {
    const { rows, bodies } = this.#state;
    const entry = this.#state.alive(name);
    const info = this.#state.info(name);
    const stored = rows.stored(name);
    if (entry === undefined || info === undefined || stored === undefined) return undefined;
    const { run, inputDigest } = entry;
    return {
      info,
      ...(run === undefined ? {} : { run }),
      ...(inputDigest === undefined ? {} : { inputDigest }),
      read: (from, to) => bodies.read(stored.body, from, to),
      close: bodies.hold(stored.body),
    };
  }

  /**
   * A variable as it was elsewhere, behind those that are here; its idle time begins anew. No observer is
   * told. `content`: received by this store; it is saved, or given up. Rejects with `bad_name`, `conflict`
   * (the name is taken) or `limit_exceeded`: nothing gives way.
   */
  async restore(record: VariableRecord, content: Content): Promise<VariableInfo> {
    const { bodies } = this.#state;
    let kept = content;
    try {
      requireName(record.info.name);
      if (bodies.belongsInBucket(content)) kept = await bodies.toBucket(content);
      return this.#state.atomically(() => this.#writer.restore(record, kept));
    } finally {
      if (isStored(kept.body)) bodies.drop(kept.body);
    }
  }

  /** In the place of what is known here. All of it or nothing. */
  restoreNames({ tombstones, numbers }: NameRecords): void {
    const { rows } = this.#state;
    this.#state.atomically(() => {
      for (const name of this.#state.tombstones.keys()) rows.removeTombstone(name);
      for (const tombstone of tombstones) rows.addTombstone(tombstone);
      rows.saveNumbers(numbers);
    });
    // It is read again with them.
    this.#state.forget();
  }
}
