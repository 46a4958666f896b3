import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { History } from "../../src/turn/history/history.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";
import { DiskBlobs } from "./disk-blobs.ts";
import { NodeSql } from "./node-sql.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;
const PIECE_BYTES = 64 * KIB;
const HOUR_MS = 3_600_000;

/** Time at which it was filled, in milliseconds since 1970. */
export const FILLED_MS = Date.UTC(2026, 0, 1);

export interface Sizes {
  /** Bytes of each value in the bucket. */
  readonly bucketBytes: number;
  /** Values in the bucket: records, text, bytes in turn. */
  readonly inBucket: number;
  /** Values in chunk rows, of 1 to 8 MiB. */
  readonly inChunks: number;
  /** Values in rows, of 2 KiB. */
  readonly inRows: number;
  readonly messages: number;
}

/** 1 GiB in all. */
export const LARGE: Sizes = {
  bucketBytes: 90 * MIB,
  inBucket: 10,
  inChunks: 24,
  inRows: 10_000,
  messages: 2_000,
};

/** 250 MB in all. */
export const MEDIUM: Sizes = {
  bucketBytes: 90 * MIB,
  inBucket: 2,
  inChunks: 9,
  inRows: 5_000,
  messages: 1_000,
};

export interface Opened {
  readonly sql: NodeSql;
  readonly store: VariableStore;
  readonly history: History;
}

/** Opens the conversation in a folder, or a new one if it is empty. */
export function openConversation(folder: string, now: () => number): Opened {
  mkdirSync(folder, { recursive: true });
  const sql = new NodeSql(join(folder, "conversation.sqlite"));
  // Durability on disk is not measured.
  sql.run("PRAGMA synchronous = OFF");
  migrate(sql);
  const bucket = { blobs: new DiskBlobs(folder), prefix: "conversation/" };
  const store = new SqlStore(sql, { now, bucket, quotaBytes: 2 * KIB * MIB });
  return { sql, store, history: new History(sql) };
}

/** Yields the steps that fill a conversation. A step may run several times. */
export function* fillingSteps(
  { store, history }: Opened,
  sizes: Sizes,
): Generator<readonly [step: string, work: () => Promise<unknown> | unknown]> {
  const mib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
  for (let index = 0; index < sizes.inBucket; index++) {
    const kind = streamKinds[index % streamKinds.length] ?? streamKinds[0];
    const name = `large_${kind.name}_${index}`;
    const pieces = () => kind.pieces(sizes.bucketBytes);
    yield [
      `receive ${mib(sizes.bucketBytes)} of ${kind.name}`,
      () => receive(store, { name, pieces: pieces(), mediaType: kind.mediaType }),
    ];
  }
  const records = { name: "large_json", pieces: jsonPieces(15 * MIB), mediaType: JSON_TYPE };
  yield ["receive 15 MiB of JSON", () => receive(store, records)];
  yield [
    "save a JSON array of 15 MiB",
    () => store.save({ name: "saved_json", value: array(15 * MIB) }),
  ];
  yield ["save a JSON array of 7 MiB", () => store.save({ name: "log", value: array(7 * MIB) })];
  for (let index = 0; index < sizes.inChunks; index++) {
    const bytes = ((index % 8) + 1) * MIB - 2 * KIB;
    const kind = streamKinds[index % 2] ?? streamKinds[0];
    const name = `chunked_${index}`;
    const { mediaType } = kind;
    yield [
      "receive 1 to 8 MiB of text or records",
      () => receive(store, { name, pieces: kind.pieces(bytes), mediaType }),
    ];
  }
  yield ["save 2 KiB, again and again", () => saveSmall(store, sizes.inRows)];
  yield ["add a message, again and again", () => addMessages(history, sizes.messages)];
}

export const DUE_VARIABLES = 1_000;

async function saveSmall(store: VariableStore, count: number): Promise<void> {
  for (let id = 0; id < count; id++) {
    await store.save({
      name: `small_${id}`,
      value: { id, rows: array(2 * KIB - 30) },
      tool: "look_up",
      input: { id },
      ...(id < DUE_VARIABLES - 1 ? { ttlMs: HOUR_MS } : {}),
    });
  }
}

function addMessages(history: History, count: number): void {
  const createdAt = new Date(FILLED_MS).toISOString();
  for (let id = 0; id < count; id++) {
    const role = id % 2 === 0 ? ("user" as const) : ("assistant" as const);
    const parts = [{ type: "text" as const, text: "What was said here before. ".repeat(20) }];
    history.add({ id: `message_${id}`, role, parts, createdAt });
  }
}

interface Received {
  readonly name: string;
  readonly pieces: Iterable<Uint8Array>;
  readonly mediaType: string;
}

async function receive(store: VariableStore, { name, pieces, mediaType }: Received) {
  const value = await store.receive(streamOf(pieces), mediaType);
  const isDue = name === "large_text_1";
  return store.save({ name, value, ...(isDue ? { ttlMs: HOUR_MS } : {}) });
}

/** Creates each piece when it is requested. */
function streamOf(pieces: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.iterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = iterator.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
    },
    { highWaterMark: 0 },
  );
}

const JSON_TYPE = "application/json";

const streamKinds = [
  { name: "records", mediaType: "application/x-ndjson", pieces: recordPieces },
  { name: "text", mediaType: "text/plain", pieces: textPieces },
  { name: "bytes", mediaType: "application/octet-stream", pieces: bytePieces },
] as const;

/** A typical order, about 150 bytes as JSON. */
export function order(id: number): Json {
  const note = "A note of some length, as orders have them; it says nothing else.";
  return { id, customer: `customer ${id} é`, tags: ["new", "paid"], total: id * 1.5, note };
}

/** Records, about this many bytes as JSON. */
function array(bytes: number): readonly Json[] {
  const records: Json[] = [];
  for (let left = bytes; left > 150; left -= 4 + JSON.stringify(records.at(-1)).length)
    records.push(order(records.length));
  return records;
}

function* recordPieces(bytes: number): Generator<Uint8Array> {
  yield* batches(bytes, (id) => `${JSON.stringify(order(id))}\n`);
}

function* jsonPieces(bytes: number): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  yield* batches(bytes, (id) => `${id === 0 ? "[" : ","}${JSON.stringify(order(id))}`);
  yield encoder.encode("]");
}

/** Pieces of slightly less than this many bytes in total. */
function* batches(bytes: number, write: (id: number) => string): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  let held = "";
  let left = bytes;
  for (let id = 0; left > PIECE_BYTES; id++) {
    held += write(id);
    if (held.length < PIECE_BYTES) continue;
    const piece = encoder.encode(held);
    yield piece;
    left -= piece.length;
    held = "";
  }
}

/** Characters of one to four bytes, cut anywhere. */
function* textPieces(bytes: number): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  const line = "All is well: é, 漢 and 😀.\n";
  const lineBytes = encoder.encode(line).length;
  const lines = encoder.encode(line.repeat(PIECE_BYTES / 16));
  let offset = 0;
  for (let left = bytes - (bytes % lineBytes); left > 0;) {
    const piece = lines.slice(offset, offset + Math.min(PIECE_BYTES - 5, left));
    yield piece;
    left -= piece.length;
    offset = (offset + piece.length) % lineBytes;
  }
}

function* bytePieces(bytes: number): Generator<Uint8Array> {
  for (let left = bytes; left > 0; left -= PIECE_BYTES) {
    yield new Uint8Array(Math.min(PIECE_BYTES, left)).fill(left >>> 16);
  }
}
