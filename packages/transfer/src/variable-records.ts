import { ByrefError } from "../../../src/errors.ts";
import { type contents, encoding, type VariableStore } from "../../../src/internal.ts";
import type { LineOf, TransferRecord } from "./transfer-format.ts";
import { badImport, type ReadBytes, writeFile } from "./transfer-lines.ts";

/** Exports all variables of a store, created while they are read. If they change meanwhile, it ends in `conflict`. */
export function exportStore(store: VariableStore, id: string): ReadableStream<Uint8Array> {
  let hasChanged = false;
  return writeFile(() => ({
    id,
    title: null,
    createdAt: new Date().toISOString(),
    records: records(),
    requireUnchanged() {
      if (hasChanged) throw conflictIn("variables");
    },
  }));

  async function* records(): AsyncGenerator<TransferRecord> {
    const stop = store.observe(() => void (hasChanged = true));
    try {
      yield* variableRecords(store);
    } finally {
      stop();
    }
  }
}

export function conflictIn(what: "conversation" | "variables"): ByrefError {
  return new ByrefError("conflict", `The ${what} changed in the meantime; try again.`);
}

/** The records of all variables and names of a store, created while they are read. Secrets have no value. */
export async function* variableRecords(store: VariableStore): AsyncGenerator<TransferRecord> {
  for (const { record, value } of store.transfer.records()) {
    yield record;
    if (value !== undefined) yield* dataRecords(value.info.bytes, value);
  }
}

/** The bytes of a value, in lines of limited length. */
export async function* dataRecords(
  bytes: number,
  source: { read(from: number, to: number): Uint8Array | Promise<Uint8Array> },
): AsyncGenerator<LineOf<"data">> {
  // One read of the bucket serves several lines.
  const step = LINE_BYTES * LINES_PER_READ;
  for (let from = 0; from < bytes; from += step) {
    const read = await source.read(from, Math.min(from + step, bytes));
    for (let at = 0; at < read.length; at += LINE_BYTES) {
      yield { type: "data", base64: encoding.toBase64(read.subarray(at, at + LINE_BYTES)) };
    }
  }
}

const LINE_BYTES = 196_608;
const LINES_PER_READ = 10;

/**
 * Restores a record of `variableRecords` in a store that was empty before the first. Rejects with `bad_import`, also for
 * other records, or the error of a rejected value.
 */
export async function restoreVariable(
  store: VariableStore,
  record: TransferRecord,
  bytes: ReadBytes,
): Promise<void> {
  switch (record.type) {
    case "byref":
      return;
    case "variable":
    case "version": {
      const isLeftOut = record.type === "variable" && record.info.visibility === "secret";
      const content = isLeftOut ? undefined : await receive(store, record, bytes);
      return store.transfer.restore(record, content);
    }
    case "tombstone":
    case "numbers":
      return store.transfer.restore(record);
    default:
      throw badImport(`A record of type ${record.type} is not allowed here.`);
  }
}

async function receive(
  store: VariableStore,
  { info: { bytes: length, mediaType }, isTable }: LineOf<"variable" | "version">,
  bytes: ReadBytes,
): Promise<contents.Content> {
  const body = bytes(length);
  if (isTable === undefined) return store.receive(body, mediaType);
  const table = await store.receiveRecords(body, mediaType);
  if (table === undefined) throw badImport(`${mediaType} is not read as records here.`);
  return table;
}
