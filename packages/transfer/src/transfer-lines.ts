import {
  ByrefError,
  codeOf,
  messageOf,
  publicMessageOf,
  requireAtMost,
} from "../../../src/errors.ts";
import type * as z from "zod";
import {
  ByteBuffer,
  encoding,
  joinBytes,
  json,
  requireJson,
  streamOf,
} from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import { type FrameLine, type LineOf, TRANSFER_VERSION } from "./variable-records.ts";

const LINE_BREAK = 10;
/** Minimum size of a chunk that is sent. */
const SENT_BYTES = 65_536;

/** SHA-256 of bytes that arrive in pieces. */
class Sha256Stream {
  readonly #stream = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#stream.getWriter();

  add(bytes: Uint8Array): Promise<void> {
    return this.#writer.write(bytes);
  }

  async end(): Promise<string> {
    await this.#writer.close();
    return encoding.toHex(new Uint8Array(await this.#stream.digest));
  }
}

/** Signs a digest. Undefined without a key. */
export type Sealing = (sha256: string) => Promise<string | undefined>;

/** Further records, such as variables. */
interface OwnLine {
  readonly type: string;
}

/**
 * Encodes records as lines, followed by the end record with their count and digest. An error from `records` becomes a
 * line in place of the end. Records are created on demand; cancelling the stream ends the generator.
 */
export function transferLines(
  records: AsyncGenerator<OwnLine>,
  sealing?: Sealing,
): ReadableStream<Uint8Array> {
  return streamOf(bytesOf(records, sealing));
}

async function* bytesOf(
  records: AsyncGenerator<OwnLine>,
  sealing?: Sealing,
): AsyncGenerator<Uint8Array, undefined> {
  const digest = new Sha256Stream();
  const encoder = new TextEncoder();
  let count = 0;
  let held = "";
  const lineOf = (record: OwnLine) => `${JSON.stringify(record)}\n`;
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
    const about = { code: codeOf(error), message: publicMessageOf(error) };
    const failure: LineOf<"error"> = { type: "error", ...about };
    yield encoder.encode(held + lineOf(failure));
    return undefined;
  }
  const bytes = encoder.encode(held);
  await digest.add(bytes);
  yield bytes;
  const sha256 = await digest.end();
  const seal = await sealing?.(sha256);
  const end: LineOf<"end"> = { type: "end", records: count, sha256, seal };
  yield encoder.encode(lineOf(end));
  return undefined;
}

/**
 * Splits bytes into lines, with their line breaks. Bytes after the last break are a line too. A line is valid
 * until the next one is asked for.
 */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  const line = new ByteBuffer();
  const hold = (bytes: Uint8Array) => {
    const bound = "maxBodyBytes";
    requireAtMost(bound, line.size + bytes.length, "No line of an export is this long.");
    line.add(bytes);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, from)) {
      hold(chunk.subarray(from, at + 1));
      yield joinBytes([...line.take()]);
      from = at + 1;
    }
    hold(chunk.subarray(from));
  }
  if (line.size > 0) yield joinBytes([...line.take()]);
  return undefined;
}

export interface ReadRecord<Own extends OwnLine> {
  /** The number of its line, from 1. */
  readonly line: number;
  readonly record: TakenLine<Own>;
}

/**
 * Reads the records of a file before its end, and checks each. The file is complete only if the end record's count and
 * digest match. Throws `bad_import`, `limit_exceeded`, or the error that ended the export.
 */
export async function* readRecords<Own extends OwnLine>(
  stream: ReadableStream<Uint8Array>,
  schema: z.ZodType<Own | FrameLine>,
): AsyncGenerator<ReadRecord<Own>, undefined> {
  const lines = linesOf(stream);
  const digest = new Sha256Stream();
  let line = 0;
  for await (const bytes of lines) {
    const record = recordIn(bytes, ++line, schema);
    if (isFailure(record)) throw failed(record);
    if (isEnd(record)) {
      const [found, { records, sha256 }] = [line - 1, record];
      if (records !== found)
        throw badImport(`It has ${found} records before its end, not ${records}.`);
      if (sha256 !== (await digest.end())) throw badImport("Its digest does not match.");
      if ((await lines.next()).done !== true) throw badImport("Something follows its end.");
      return undefined;
    }
    await digest.add(bytes);
    yield { line, record };
  }
  throw badImport("It has no end: it was cut off.");
}

/** Passes each record to `take`, which may read the bytes that follow it. Its errors get the number of the line. */
export async function takeEach<Own extends OwnLine>(
  records: AsyncIterable<ReadRecord<Own>>,
  take: (record: TakenLine<Own>) => Promise<void> | void,
): Promise<void> {
  for await (const { line, record } of records) {
    try {
      await take(record);
    } catch (error) {
      throw inLine(line, error);
    }
  }
}

/** A record between the first line and the end. */
export type TakenLine<Own extends OwnLine> = Own | LineOf<"byref" | "data">;

function isFailure(record: OwnLine): record is LineOf<"error"> {
  return record.type === "error";
}

function isEnd(record: OwnLine): record is LineOf<"end"> {
  return record.type === "end";
}

/** Adds the number of the line, unless a later line was at fault. */
function inLine(line: number, error: unknown): unknown {
  const isNumbered = messageOf(error).startsWith("Line ");
  if (!(error instanceof ByrefError) || isNumbered) return error;
  return new ByrefError(error.code, `Line ${line}: ${error.message}`, error.details);
}

/** Throws `bad_import` or `limit_exceeded`. Messages do not quote values, which may be private. */
function recordIn<Record extends OwnLine>(
  line: Uint8Array,
  number: number,
  schema: z.ZodType<Record>,
): Record {
  const given = jsonIn(line, number);
  requireJson(given, LEVELS_AROUND);
  if (number === 1) requireVersion(given);
  const { data, error } = schema.safeParse(given);
  if (data === undefined) {
    const { path = [], message = "" } = error?.issues[0] ?? {};
    throw badImport(`Line ${number}: ${path.map(String).join(".")} ${message}`);
  }
  if ((data.type === "byref") !== (number === 1)) {
    throw badImport(`Line ${number}: the header is the first line, and no other.`);
  }
  return data;
}

/** Nesting levels of a record around its values, with room for later versions. */
const LEVELS_AROUND = 10;

function jsonIn(line: Uint8Array, number: number): Json {
  try {
    return json.parsedJson(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(line),
    );
  } catch {
    throw badImport(`Line ${number} is not JSON.`);
  }
}

function requireVersion(given: unknown): void {
  if (!json.isObject(given) || given.type !== "byref") throw badImport("Line 1 is no header.");
  if (given.version === TRANSFER_VERSION) return;
  const message = `This is version ${String(given.version).slice(0, 20)}; only ${TRANSFER_VERSION} is supported.`;
  throw new ByrefError("bad_import", message);
}

function failed({ code, message }: LineOf<"error">): ByrefError {
  if (code === "conflict" || code === "conversation_not_found")
    return new ByrefError(code, message);
  return badImport(`The export failed: ${code}.`);
}

export function badImport(message: string): ByrefError {
  return new ByrefError("bad_import", message);
}
