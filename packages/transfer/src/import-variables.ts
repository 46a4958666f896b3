import * as limits from "../../../src/limits.ts";
import {
  type Content,
  encoding,
  type Tombstone,
  tombstoneOf,
  type VariableRecord,
  type VariableStore,
  type VersionRecord,
} from "../../../src/internal.ts";
import { badImport, type TakenLine } from "./transfer-lines.ts";
import type { LineOf } from "./variable-records.ts";

/** The records of the file, for the bytes that follow one. */
type Records = Pick<AsyncIterator<{ readonly record: { readonly type: string } }>, "next">;

export type StoreLine = LineOf<"variable" | "version" | "tombstone" | "numbers">;

/** Restores variables and names from the records of a file, in an empty store. */
export class VariablesImport {
  readonly #store: VariableStore;
  readonly #records: Records;
  readonly #tombstones: Tombstone[] = [];
  #numbers: Readonly<Record<string, number>> = {};

  constructor(store: VariableStore, records: Records) {
    this.#store = store;
    this.#records = records;
  }

  /**
   * Takes one record, with the bytes that follow it. Rejects with `bad_import` or the error of a rejected value.
   * The casts remove the schemas' statement that absent fields may be undefined.
   */
  async take(record: TakenLine<StoreLine>): Promise<void> {
    switch (record.type) {
      case "byref":
        return;
      case "variable":
        return this.#takeVariable(record as VariableRecord & LineOf<"variable">);
      case "version":
        return this.#takeVersion(record as VersionRecord & LineOf<"version">);
      case "tombstone":
        return this.#addTombstone(record.tombstone as Tombstone);
      case "numbers":
        this.#numbers = record.numbers;
        return;
      default:
        throw badImport(`A record of type ${record.type} is not allowed here.`);
    }
  }

  /** Writes the records of names. Call it after the last record. */
  end(): void {
    this.#store.transfer.restoreNames({ tombstones: this.#tombstones, numbers: this.#numbers });
  }

  /** A stream of exactly `length` bytes from the records that follow. */
  bytes(length: number): ReadableStream<Uint8Array> {
    let left = length;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (left === 0) return controller.close();
          const { value } = await this.#records.next();
          const bytes = dataIn(value?.record ?? {});
          left -= bytes.length;
          if (bytes.length === 0 || left < 0) throw badImport("A value's size does not match.");
          controller.enqueue(bytes);
        },
      },
      { highWaterMark: 0 },
    );
  }

  async #takeVariable(record: VariableRecord & LineOf<"variable">): Promise<void> {
    const { visibility } = record.info;
    if (visibility === "secret") {
      const { inputDigest } = record;
      const eviction = { inputDigest, reason: "left_out", atMs: Date.now() } as const;
      return this.#addTombstone(tombstoneOf(record.info, eviction));
    }
    await this.#store.transfer.restore(record, await this.#received(record));
  }

  async #takeVersion(record: VersionRecord & LineOf<"version">): Promise<void> {
    await this.#store.transfer.restoreVersion(record, await this.#received(record));
  }

  async #received({ info, isTable }: LineOf<"variable" | "version">): Promise<Content> {
    const { bytes, mediaType } = info;
    if (isTable === undefined) return this.#store.receive(this.bytes(bytes), mediaType);
    const table = await this.#store.receiveRecords(this.bytes(bytes), mediaType);
    if (table === undefined) throw badImport(`${mediaType} is not read as records here.`);
    return table;
  }

  #addTombstone(tombstone: Tombstone): void {
    this.#tombstones.push(tombstone);
    // Each secret adds a tombstone, so the oldest are dropped.
    if (this.#tombstones.length > limits.maxItems) this.#tombstones.shift();
  }
}

function dataIn(record: object | LineOf<"data">): Uint8Array {
  if (!("base64" in record)) throw badImport("A value is incomplete.");
  try {
    return encoding.fromBase64(record.base64);
  } catch {
    throw badImport("A value is not in base64.");
  }
}
