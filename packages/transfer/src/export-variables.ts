import { ByrefError } from "../../../src/errors.ts";
import { encoding, json, type VariableStore, contents } from "../../../src/internal.ts";
import type { VariableInfo } from "../../../src/runtime.ts";
import type { StoreLine } from "./import-variables.ts";
import { transferLines } from "./transfer-lines.ts";
import { type LineOf, TRANSFER_VERSION } from "./variable-records.ts";

/** Exports all variables of a store, created while they are read. If they change meanwhile, it ends in `conflict`. */
export function exportStore(store: VariableStore, id: string): ReadableStream<Uint8Array> {
  return transferLines(fileOf(store, id));
}

async function* fileOf(store: VariableStore, id: string) {
  let hasChanged = false;
  const stop = store.observe(() => {
    hasChanged = true;
  });
  try {
    const createdAt = new Date().toISOString();
    const header: LineOf<"byref"> = {
      type: "byref",
      version: TRANSFER_VERSION,
      id,
      title: null,
      createdAt,
    };
    yield header;
    for await (const line of variableLines(store)) {
      yield line;
      if (hasChanged) throw new ByrefError("conflict", CHANGED);
    }
  } finally {
    stop();
  }
}

export const CHANGED = "The variables changed in the meantime; try again.";

/** The records of all variables and names of a store, created while they are read. Secrets have no value. */
export async function* variableLines(
  store: VariableStore,
): AsyncGenerator<StoreLine | LineOf<"data">> {
  for (const name of store.transfer.names()) yield* linesOf(store, name);
  const { tombstones, numbers } = store.transfer.nameRecords();
  for (const tombstone of tombstones) {
    yield {
      type: "tombstone",
      tombstone: writable<LineOf<"tombstone">["tombstone"]>(tombstone),
    };
  }
  yield { type: "numbers", numbers: { ...numbers } };
}

async function* linesOf(
  store: VariableStore,
  name: string,
): AsyncGenerator<StoreLine | LineOf<"data">> {
  const opened = store.transfer.open(name);
  if (opened === undefined) return;
  const { info, run, inputDigest } = opened;
  try {
    yield {
      type: "variable",
      info: writable<LineOf<"variable">["info"]>(info),
      ...json.compact({ isTable: isTable(info), run, inputDigest }),
    };
    if (info.visibility !== "secret") yield* dataLines(info.bytes, opened);
  } finally {
    opened.close();
  }
  if (info.visibility !== "secret") yield* versionLines(store, name);
}

async function* versionLines(
  store: VariableStore,
  name: string,
): AsyncGenerator<StoreLine | LineOf<"data">> {
  const all = store.transfer.versions(name);
  try {
    for (const { info, undone, read } of all) {
      const written = writable<LineOf<"version">["info"]>(info);
      yield { type: "version", info: written, ...json.compact({ isTable: isTable(info), undone }) };
      yield* dataLines(info.bytes, { read });
    }
  } finally {
    for (const one of all) one.close();
  }
}

function isTable({ type, mediaType }: VariableInfo): true | undefined {
  return type === "array" && contents.formatOf(mediaType) === "bytes" ? true : undefined;
}

/** The bytes of a value, in lines of limited length. */
export async function* dataLines(
  bytes: number,
  source: { read(from: number, to: number): Uint8Array | Promise<Uint8Array> },
): AsyncGenerator<LineOf<"data">> {
  const step = LINE_BYTES;
  // One read of the bucket serves several lines.
  const readStep = step * LINES_PER_READ;
  for (let from = 0; from < bytes; from += readStep) {
    const read = await source.read(from, Math.min(from + readStep, bytes));
    for (let at = 0; at < read.length; at += step) {
      yield { type: "data", base64: encoding.toBase64(read.subarray(at, at + step)) };
    }
  }
}

const LINES_PER_READ = 10;

/** Casts from read-only types to those of the format. Neither is written to, and the reader rejects invalid records. */
export function writable<Record>(value: unknown): Record {
  return value as Record;
}

const LINE_BYTES = 196_608;
