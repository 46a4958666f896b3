import { type About, type Content, isStored } from "./bytes/content.ts";
import { requireName } from "./names.ts";
import type { StoreState } from "./store-state.ts";
import type { OpenValue, Tombstone, VariableInfo } from "./variable-store.ts";
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
export interface Departure extends OpenValue, Omit<VariableRecord, "info"> {}

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
    const entry = this.#state.alive(name);
    if (entry === undefined) return undefined;
    const opened = this.#state.open(entry);
    if (opened === undefined) return undefined;
    const { run, inputDigest } = entry;
    return {
      ...opened,
      ...(run === undefined ? {} : { run }),
      ...(inputDigest === undefined ? {} : { inputDigest }),
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
