import {
  ByrefError,
  codeOf,
  failingAs,
  messageOf,
  publicMessageOf,
  requireAtMost,
} from "../../../src/errors.ts";
import {
  ByteBuffer,
  encoding,
  joinBytes,
  json,
  requireJson,
  streamOf,
} from "../../../src/internal.ts";
import {
  type Line,
  line as lineSchema,
  type LineOf,
  TRANSFER_VERSION,
  type TransferRecord,
} from "./transfer-format.ts";

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

/** A file to write. It shows its source at one moment. */
export interface FileSource extends Pick<LineOf<"byref">, "id" | "title" | "createdAt"> {
  readonly records: AsyncIterable<TransferRecord>;
  /** Called after each record. Throws if the source has changed since the first one. */
  readonly requireUnchanged: () => void;
}

/** Signs a digest. Undefined without a key. */
export type Sealing = (sha256: string) => Promise<string | undefined>;

/**
 * Writes records as lines, followed by the end with their count and digest. An error becomes a line in place of the end.
 * The source is opened when the file is first read, and records are created on demand; cancelling the stream ends their
 * generator.
 */
export function writeFile(open: () => FileSource, sealing?: Sealing): ReadableStream<Uint8Array> {
  return streamOf(bytesOf(open, sealing));
}

async function* bytesOf(
  open: () => FileSource,
  sealing?: Sealing,
): AsyncGenerator<Uint8Array, undefined> {
  const digest = new Sha256Stream();
  const encoder = new TextEncoder();
  // With the header.
  let count = 1;
  let held = "";
  const lineOf = (line: Line) => `${JSON.stringify(line)}\n`;
  try {
    const { id, title, createdAt, records, requireUnchanged } = open();
    held = lineOf({ type: "byref", version: TRANSFER_VERSION, id, title, createdAt });
    for await (const record of records) {
      held += lineOf(record);
      count++;
      requireUnchanged();
      if (held.length < SENT_BYTES) continue;
      const bytes = encoder.encode(held);
      held = "";
      await digest.add(bytes);
      yield bytes;
    }
  } catch (error) {
    const [code, message] = [codeOf(error), publicMessageOf(error)];
    yield encoder.encode(held + lineOf({ type: "error", code, message }));
    return undefined;
  }
  const bytes = encoder.encode(held);
  await digest.add(bytes);
  yield bytes;
  const sha256 = await digest.end();
  const seal = await sealing?.(sha256);
  yield encoder.encode(lineOf({ type: "end", records: count, sha256, seal }));
  return undefined;
}

/**
 * Splits bytes into lines, with their line breaks. Bytes after the last break are a line too. A line is valid
 * until the next one is asked for.
 */
async function* splitLines(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
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

/**
 * Reads the records of a file before its end, with the numbers of their lines, and checks each. The file is complete
 * only if the end's count and digest match. Throws `bad_import`, `limit_exceeded`, or the error that ended the export.
 */
async function* recordsIn(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<readonly [number: number, record: TransferRecord], undefined> {
  const lines = splitLines(stream);
  const digest = new Sha256Stream();
  let number = 0;
  for await (const bytes of lines) {
    const record = parseLine(bytes, ++number);
    if (record.type === "error") throw exportFailed(record);
    if (record.type === "end") {
      const [count, { records, sha256 }] = [number - 1, record];
      if (records !== count)
        throw badImport(`It has ${count} records before its end, not ${records}.`);
      if (sha256 !== (await digest.end())) throw badImport("Its digest does not match.");
      if ((await lines.next()).done !== true) throw badImport("Something follows its end.");
      return undefined;
    }
    await digest.add(bytes);
    yield [number, record];
  }
  throw badImport("It has no end: it was cut off.");
}

/** Reads the header of a file. */
export async function readHeader(stream: ReadableStream<Uint8Array>): Promise<LineOf<"byref">> {
  const records = recordsIn(stream);
  const { value: [, record] = [] } = await records.next();
  await records.return(undefined);
  if (record?.type !== "byref") throw badImport("Line 1 is no header.");
  return record;
}

/** Reads exactly so many bytes from the lines that follow. */
export type ReadBytes = (length: number) => AsyncIterable<Uint8Array>;

/** Passes each record of a file to `take`, which reads the bytes that follow it. Its errors get the number of the line. */
export async function readFile(
  stream: ReadableStream<Uint8Array>,
  take: (record: TransferRecord, bytes: ReadBytes) => Promise<void> | void,
): Promise<void> {
  const records = recordsIn(stream);
  for await (const [number, record] of records) {
    try {
      await take(record, bytes);
    } catch (error) {
      throw inLine(number, error);
    }
  }

  async function* bytes(length: number): AsyncGenerator<Uint8Array, undefined> {
    for (let left = length; left > 0;) {
      const { value: [, record] = [] } = await records.next();
      if (record?.type !== "data") throw badImport("A value is incomplete.");
      const { base64 } = record;
      const refuse = () => badImport("A value is not in base64.");
      const data = failingAs(() => encoding.fromBase64(base64), refuse);
      left -= data.length;
      if (data.length === 0 || left < 0) throw badImport("A value's size does not match.");
      yield data;
    }
    return undefined;
  }
}

/** Adds the number of the line, unless a later line was at fault. */
function inLine(number: number, error: unknown): unknown {
  const isNumbered = messageOf(error).startsWith("Line ");
  if (!(error instanceof ByrefError) || isNumbered) return error;
  return new ByrefError(error.code, `Line ${number}: ${error.message}`, error.details);
}

/** Throws `bad_import` or `limit_exceeded`. Messages do not quote values, which may be private. */
function parseLine(bytes: Uint8Array, number: number): Line {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  const parse = () => json.parsedJson(utf8.decode(bytes));
  const given = failingAs(parse, () => badImport(`Line ${number} is not JSON.`));
  requireJson(given, LEVELS_AROUND);
  if (number === 1) requireVersion(given);
  const { data, error } = lineSchema.safeParse(given);
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

function requireVersion(given: unknown): void {
  if (!json.isObject(given) || given.type !== "byref") throw badImport("Line 1 is no header.");
  if (given.version === TRANSFER_VERSION) return;
  const message = `This is version ${String(given.version).slice(0, 20)}; only ${TRANSFER_VERSION} is supported.`;
  throw new ByrefError("bad_import", message);
}

function exportFailed({ code, message }: LineOf<"error">): ByrefError {
  if (code === "conflict" || code === "conversation_not_found")
    return new ByrefError(code, message);
  return badImport(`The export failed: ${code}.`);
}

export function badImport(message: string): ByrefError {
  return new ByrefError("bad_import", message);
}
