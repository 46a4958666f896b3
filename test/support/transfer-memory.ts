/**
 * Exports the conversation in one folder to a file, imports it into another folder, and reads both. The
 * folders are its arguments. Needs `--expose-gc`. Prints `MeasuredLive` objects and the digests of both
 * conversations as JSON.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ConversationData } from "../../src/edge/conversation-data.ts";
import { exportOf } from "../../src/edge/transfer/export.ts";
import { importInto } from "../../src/edge/transfer/import.ts";
import { DigestStream } from "./digest-stream.ts";
import { DiskBlobs } from "./disk-blobs.ts";
import { FILLED_MS } from "./large-conversation.ts";
import { liveBytes, measure, type MeasuredLive } from "./memory-watch.ts";
import { NodeSql } from "./node-sql.ts";

Object.defineProperty(crypto, "DigestStream", { value: DigestStream });

// Nothing is due at this time.
Date.now = () => FILLED_MS + 60_000;

const [from = "", to = ""] = process.argv.slice(2);
/** Bytes between two garbage collections. */
const COLLECTED_BYTES = 12_000_000;
let uncollectedBytes = 0;
let peakLiveBytes = 0;
const measured: MeasuredLive[] = [];
const source = open(from);
const target = open(to);
const file = join(to, "file.ndjson");
await watch("out", () => pipeline(collecting(fileOf(source)), createWriteStream(file)));
await watch("in", () =>
  importInto(
    { data: target, plans: undefined, files: undefined, id: "c", isTrusted: true },
    fileAt(file),
  ),
);
const sums = [await watch("read", () => sumOf(source)), await sumOf(target)];
console.log(JSON.stringify({ measured, sums }));

function open(folder: string): ConversationData {
  const sql = new NodeSql(join(folder, "conversation.sqlite"));
  sql.run("PRAGMA synchronous = OFF");
  return new ConversationData(sql, {
    bucket: { blobs: new DiskBlobs(folder), prefix: "conversation/" },
    retention: { quotaBytes: 2 ** 31, variableIdleMs: 2 ** 45 },
    onAccess: () => undefined,
  });
}

function fileOf(data: ConversationData): ReadableStream<Uint8Array> {
  return exportOf({
    data: () => data,
    plans: undefined,
    files: undefined,
    id: "c",
    sealing: async () => undefined,
  });
}

function fileAt(path: string): ReadableStream<Uint8Array> {
  const chunks = Readable.from(collecting(createReadStream(path)));
  // Node has its own type for the same stream.
  return Readable.toWeb(chunks) as unknown as ReadableStream<Uint8Array>;
}

/** Passes chunks through and measures live memory every `COLLECTED_BYTES` bytes. */
async function* collecting(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    passed(chunk.length);
    yield chunk;
  }
}

function passed(bytes: number): void {
  uncollectedBytes += bytes;
  if (uncollectedBytes < COLLECTED_BYTES) return;
  uncollectedBytes = 0;
  peakLiveBytes = Math.max(peakLiveBytes, liveBytes());
}

/** Returns a digest of everything that a copy must have in common with the original. */
async function sumOf(data: ConversationData): Promise<string> {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const info of data.store.list()) {
    hash.update(JSON.stringify({ ...info, accessedAt: "" }));
    const open = data.store.transfer.open(info.name);
    if (open === undefined) throw new Error(`There is no ${info.name}.`);
    for (let at = 0; at < info.bytes; at += 1_000_000) {
      const part = await open.read(at, Math.min(at + 1_000_000, info.bytes));
      hash.update(part);
      passed(part.length);
    }
    open.close();
    bytes += info.bytes;
  }
  return `${data.history.count()} ${bytes} ${hash.digest("hex")}`;
}

async function watch<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  peakLiveBytes = liveBytes();
  const { result, measured: figures } = await measure(name, work);
  measured.push({ ...figures, peakLiveBytes });
  return result;
}
