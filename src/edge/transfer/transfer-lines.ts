import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { streamOf } from "../../value/bytes.ts";
import { LineBuffer } from "../../value/line-buffer.ts";
import { isObject, type Json, parsedJson } from "../../value/json.ts";
import { requireJson } from "../../value/require-json.ts";
import {
  TRANSFER_VERSION,
  type TransferOf,
  type TransferRecord,
  transferRecord,
} from "./transfer-format.ts";

const LINE_BREAK = 10;
/** Minimum size of a chunk that is sent. */
const SENT_BYTES = 65_536;

/** SHA-256 of bytes that arrive in pieces. */
class Digest {
  readonly #stream = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#stream.getWriter();

  add(bytes: Uint8Array): Promise<void> {
    return this.#writer.write(bytes);
  }

  async end(): Promise<string> {
    await this.#writer.close();
    const bytes = new Uint8Array(await this.#stream.digest);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

/**
 * Encodes records as lines, followed by the end record with their count and digest. An error from `records`
 * becomes a line in place of the end. Records are created on demand; cancelling the stream ends the
 * generator.
 */
export function transferLines(
  records: AsyncGenerator<TransferRecord>,
  publicError: (error: unknown) => TransferOf<"error">,
): ReadableStream<Uint8Array> {
  return streamOf(bytesOf(records, publicError));
}

async function* bytesOf(
  records: AsyncGenerator<TransferRecord>,
  publicError: (error: unknown) => TransferOf<"error">,
): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  const digest = new Digest();
  let count = 0;
  let held = "";
  const lineOf = (record: TransferRecord) => `${JSON.stringify(record)}\n`;
  try {
    for await (const record of records) {
      held += lineOf(record);
      count++;
      if (held.length < SENT_BYTES) continue;
      const bytes = encoder.encode(held);
      held = "";
      await digest.add(bytes);
      yield bytes;
    }
  } catch (error) {
    yield encoder.encode(held + lineOf(publicError(error)));
    return undefined;
  }
  const bytes = encoder.encode(held);
  await digest.add(bytes);
  yield bytes;
  yield encoder.encode(lineOf({ type: "end", records: count, sha256: await digest.end() }));
  return undefined;
}

/**
 * Splits bytes into lines, with their line breaks. Bytes after the last break are a line too. A line is valid
 * until the next one is asked for.
 */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  const line = new LineBuffer();
  const hold = (bytes: Uint8Array) => {
    requireShort(line.length + bytes.length);
    line.append(bytes);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, from)) {
      hold(chunk.subarray(from, at + 1));
      yield line.take();
      from = at + 1;
    }
    hold(chunk.subarray(from));
  }
  if (line.length > 0) yield line.take();
  return undefined;
}

function requireShort(actual: number): void {
  const advice = "No line of an export is as long.";
  requireAtMost(["maxTransferLineBytes", limits.maxTransferLineBytes], actual, advice);
}

/**
 * Reads the records of a file and checks each. The file is complete only if the end record's count and digest
 * match.
 */
export class TransferReader {
  readonly #lines: AsyncGenerator<Uint8Array, undefined>;
  readonly #digest = new Digest();
  #count = 0;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#lines = linesOf(stream);
  }

  /** Throws `bad_import`, `unsupported_version`, `limit_exceeded`, or the error that ended the export. */
  async next(): Promise<Exclude<TransferRecord, TransferOf<"error">>> {
    const { done, value: line } = await this.#lines.next();
    if (done === true) throw badImport("It has no end: it was cut off.");
    this.#count++;
    const record = recordIn(line, this.#count);
    if (record.type === "error") throw failed(record);
    if (record.type === "end") await this.#check(record);
    else await this.#digest.add(line);
    return record;
  }

  /** Cancels the rest of the file. */
  async close(): Promise<void> {
    await this.#lines.return(undefined);
  }

  async #check({ records, sha256 }: TransferOf<"end">): Promise<void> {
    const found = this.#count - 1;
    if (records !== found)
      throw badImport(`It has ${found} records before its end, not ${records}.`);
    if (sha256 !== (await this.#digest.end())) throw badImport("Its digest does not match.");
    if ((await this.#lines.next()).done !== true) throw badImport("Something follows its end.");
  }
}

/**
 * Throws `bad_import`, `unsupported_version` or `limit_exceeded`. Messages do not quote values, which may be
 * private.
 */
function recordIn(line: Uint8Array, number: number): TransferRecord {
  const given = jsonIn(line, number);
  if (number === 1) requireVersion(given);
  const { data, error } = transferRecord.safeParse(given);
  if (data === undefined) {
    const { path = [], message = "" } = error?.issues[0] ?? {};
    throw badImport(`Line ${number}: ${path.map(String).join(".")} ${message}`);
  }
  if ((data.type === "byref") !== (number === 1)) {
    throw badImport(`Line ${number}: the header is the first line, and no other.`);
  }
  return data;
}

function jsonIn(line: Uint8Array, number: number): Json {
  const value = parsedLine(line, number);
  requireJson(value, LEVELS_AROUND);
  return value;
}

/** Nesting levels of a record around its values, with room for later versions. */
const LEVELS_AROUND = 10;

function parsedLine(line: Uint8Array, number: number): Json {
  try {
    return parsedJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(line));
  } catch {
    throw badImport(`Line ${number} is not JSON.`);
  }
}

function requireVersion(given: unknown): void {
  if (!isObject(given) || given.type !== "byref") throw badImport("Line 1 is no header.");
  if (given.version === TRANSFER_VERSION) return;
  const message = `This is version ${String(given.version).slice(0, 20)}; known is ${TRANSFER_VERSION}.`;
  throw new ByrefError("unsupported_version", message);
}

function failed({ code, message }: TransferOf<"error">): ByrefError {
  if (code === "conflict") return new ByrefError("conflict", message);
  return badImport(`The export failed: ${code}.`);
}

export function badImport(message: string): ByrefError {
  return new ByrefError("bad_import", message);
}
