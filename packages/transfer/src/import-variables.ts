import * as limits from "../../../src/limits.ts";
import {
  encoding,
  tombstoneOf,
  type VariableStore,
  type stores,
  type metadata,
  type contents,
} from "../../../src/internal.ts";
import { badImport, type TakenLine } from "./transfer-lines.ts";
import type { LineOf } from "./variable-records.ts";

/** The records of the file, for the bytes that follow one. */
type Records = Pick<AsyncIterator<{ readonly record: { readonly type: string } }>, "next">;

export type StoreLine = LineOf<"variable" | "version" | "tombstone" | "numbers">;

/** Restores variables and names from the records of a file, in an empty store. */
export function variablesImport(store: VariableStore, records: Records) {
  const tombstones: metadata.Tombstone[] = [];
  let numbers: Readonly<Record<string, number>> = {};
  return { take, end, bytes };

  /**
   * Takes one record, with the bytes that follow it. Rejects with `bad_import` or the error of a rejected value.
   * The casts remove the schemas' statement that absent fields may be undefined.
   */
  async function take(record: TakenLine<StoreLine>): Promise<void> {
    switch (record.type) {
      case "byref":
        return;
      case "variable":
        return takeVariable(record as stores.VariableRecord & LineOf<"variable">);
      case "version":
        return store.transfer.restoreVersion(
          record as stores.VersionRecord & LineOf<"version">,
          await received(record),
        );
      case "tombstone":
        return addTombstone(record.tombstone as metadata.Tombstone);
      case "numbers":
        numbers = record.numbers;
        return;
      default:
        throw badImport(`A record of type ${record.type} is not allowed here.`);
    }
  }

  /** Writes the records of names. Call it after the last record. */
  function end(): void {
    store.transfer.restoreNames({ tombstones, numbers });
  }

  /** A stream of exactly `length` bytes from the records that follow. */
  function bytes(length: number): ReadableStream<Uint8Array> {
    let left = length;
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (left === 0) return controller.close();
          const { value } = await records.next();
          const data = dataIn(value?.record ?? {});
          left -= data.length;
          if (data.length === 0 || left < 0) throw badImport("A value's size does not match.");
          controller.enqueue(data);
        },
      },
      { highWaterMark: 0 },
    );
  }

  async function takeVariable(record: stores.VariableRecord & LineOf<"variable">): Promise<void> {
    const { info, inputDigest } = record;
    if (info.visibility === "secret") {
      const eviction = { inputDigest, reason: "left_out", atMs: Date.now() } as const;
      return addTombstone(tombstoneOf(info, eviction));
    }
    await store.transfer.restore(record, await received(record));
  }

  async function received({
    info,
    isTable,
  }: LineOf<"variable" | "version">): Promise<contents.Content> {
    const { mediaType } = info;
    const body = bytes(info.bytes);
    if (isTable === undefined) return store.receive(body, mediaType);
    const table = await store.receiveRecords(body, mediaType);
    if (table === undefined) throw badImport(`${mediaType} is not read as records here.`);
    return table;
  }

  function addTombstone(tombstone: metadata.Tombstone): void {
    tombstones.push(tombstone);
    // Each secret adds a tombstone, so the oldest are dropped.
    if (tombstones.length > limits.maxItems) tombstones.shift();
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
