import { hash } from "node:crypto";
import * as limits from "../../src/limits.ts";
import type { Location } from "../../src/store/variable.ts";
import { Random } from "./random.ts";

/** The content of a write, generated from its seed on demand. */
export interface Piece {
  readonly kind: "json" | "text" | "records" | "bytes";
  /** Differs for every write, and so does all of its content, so that a mixture of two is detected. */
  readonly seed: number;
  /** Approximate number of bytes. */
  readonly size: number;
}

/** What a variable holds after some writes. */
export interface Value {
  readonly kind: Piece["kind"];
  readonly pieces: readonly Piece[];
}

/** The expected metadata of a value, and the SHA-256 of its plain GET. */
export interface Description {
  readonly digest: string;
  readonly type: "object" | "array" | "string" | "bytes";
  readonly count: number;
  readonly bytes: number;
  readonly mediaType: string;
  readonly location: Location;
}

export const mediaTypes: Readonly<Record<Piece["kind"], string>> = {
  json: "application/json",
  text: "text/plain",
  records: "application/x-ndjson",
  bytes: "application/octet-stream",
};

/** JSON up to this size is an object, larger JSON an array. */
const MAX_OBJECT_BYTES = 200;
const MAX_LINE_UNITS = 32;
const UNIT_BYTES = 64;
/** Characters of one to four bytes in UTF-8, none of which JSON escapes. */
const ALPHABET = Array.from("abcdefghijklmnopqrstuvwxyz0123456789 .,:;éüß€→漢字😀🧵");
const filling = filled(new Random(1), 4_096);

/** Returns the body of the write. */
export function bodyOf(piece: Piece): Buffer {
  const { kind } = piece;
  if (kind === "bytes") return noise(piece);
  if (isObject(piece)) return Buffer.from(objectOf(piece));
  const bytes = new Builder(piece.size);
  if (kind === "text") addText(bytes, piece);
  else if (kind === "records") addElements(bytes, piece, "\n").ascii("\n");
  else addElements(bytes.ascii("["), piece, ",").ascii("]");
  return bytes.whole;
}

/** Returns the value with the write appended, or undefined if the specification forbids that. */
export function appended(value: Value, piece: Piece): Value | undefined {
  const pieces = [...value.pieces, piece];
  if (piece.kind === "bytes" || piece.kind === "records") return undefined;
  if (value.kind === "bytes" || isObjectValue(value)) return undefined;
  if (value.kind === "text") return piece.kind === "text" ? { kind: "text", pieces } : undefined;
  const whole: Value = { kind: "json", pieces };
  return describe(whole).bytes > limits.maxJsonBytes ? undefined : whole;
}

const described = new Map<string, Description>();

export function describe(value: Value): Description {
  const key = keyOf(value);
  const known = described.get(key);
  if (known !== undefined) return known;
  const description = describeAnew(value);
  described.set(key, description);
  return description;
}

export function keyOf({ kind, pieces }: Value): string {
  return `${kind} of ${pieces.map((piece) => `${piece.kind}#${piece.seed}(${piece.size})`).join("+")}`;
}

export function digestOf(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

function describeAnew(value: Value): Description {
  const { kind, pieces } = value;
  const answer = answerTo(value);
  const digest = digestOf(answer);
  // NDJSON has a line feed after each record; the array has one comma less and two brackets.
  const bytes = kind === "records" ? answer.length - 1 : answer.length;
  const large = bytes <= limits.maxChunkedBytes ? "chunks" : "r2";
  const location = bytes <= limits.maxRowBytes ? "row" : kind === "bytes" ? "r2" : large;
  const common = { digest, bytes, mediaType: mediaTypes[kind], location } as const;
  if (kind === "bytes") return { ...common, type: "bytes", count: bytes };
  if (kind === "text") return { ...common, type: "string", count: charactersIn(answer) };
  if (isObjectValue(value)) return { ...common, type: "object", count: 1 };
  const count = pieces.reduce((sum, piece) => sum + elementCount(piece), 0);
  return { ...common, type: "array", count };
}

/** Returns what a GET without Accept returns: for records, the array. */
function answerTo(value: Value): Buffer {
  const [first, ...others] = value.pieces;
  if (first === undefined) throw new Error("A value has a piece.");
  if (value.kind === "bytes" || isObjectValue(value)) return bodyOf(first);
  if (value.kind === "text") return Buffer.concat(value.pieces.map(bodyOf));
  const bytes = addElements(new Builder(first.size).ascii("["), first, ",");
  for (const piece of others) addElements(bytes.ascii(","), piece, ",");
  return bytes.ascii("]").whole;
}

function isObject({ kind, size }: Piece): boolean {
  return kind === "json" && size <= MAX_OBJECT_BYTES;
}

function isObjectValue({ kind, pieces }: Value): boolean {
  const [first, second] = pieces;
  return kind === "json" && second === undefined && first !== undefined && isObject(first);
}

function objectOf({ seed, size }: Piece): string {
  return JSON.stringify({ write: `${seed}${"x".repeat(Math.max(size - 22, 0))}` });
}

/** Adds the piece as elements of an array. */
function addElements(bytes: Builder, piece: Piece, separator: string): Builder {
  if (isObject(piece)) return bytes.ascii(objectOf(piece));
  if (piece.kind === "text") return addText(bytes.ascii('"'), piece).ascii('"');
  for (const { line, text } of linesOf(piece)) {
    if (line > 0) bytes.ascii(separator);
    bytes.ascii(`{"write":${piece.seed},"line":${line},"text":"`).add(text).ascii('"}');
  }
  return bytes;
}

function addText(bytes: Builder, piece: Piece): Builder {
  for (const { line, text } of linesOf(piece)) bytes.ascii(`${piece.seed}.${line} `).add(text);
  return bytes;
}

function elementCount(piece: Piece): number {
  if (isObject(piece) || piece.kind === "text") return 1;
  let count = 0;
  for (const _ of linesOf(piece)) count++;
  return count;
}

function* linesOf({ seed, size }: Piece): Generator<{ line: number; text: Uint8Array }> {
  const random = new Random(seed);
  const units = filling.length / UNIT_BYTES;
  for (let line = 0, left = size; left > 0 || line === 0; line++) {
    const length = random.between(1, Math.min(MAX_LINE_UNITS, Math.ceil(left / UNIT_BYTES) + 1));
    const from = random.between(0, units - length) * UNIT_BYTES;
    yield { line, text: filling.subarray(from, from + length * UNIT_BYTES) };
    left -= length * UNIT_BYTES;
  }
}

function noise({ seed, size }: Piece): Buffer {
  const random = new Random(seed);
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let index = 0; index < words.length; index++) words[index] = random.next();
  return Buffer.from(words.buffer, 0, size);
}

/** Returns units of the same number of bytes, so that a value can be cut between any two. */
function filled(random: Random, units: number): Buffer {
  const unit = () => {
    let text = "";
    while (Buffer.byteLength(text) <= UNIT_BYTES - 4) text += random.one(ALPHABET);
    return text + ".".repeat(UNIT_BYTES - Buffer.byteLength(text));
  };
  return Buffer.from(Array.from({ length: units }, unit).join(""));
}

/** Counts the bytes that begin a character. */
function charactersIn(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count++;
  return count;
}

/** A buffer that grows. */
class Builder {
  #bytes: Buffer;
  #length = 0;

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.alloc(Math.ceil(expectedBytes * 1.2) + 256);
  }

  get whole(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  ascii(text: string): this {
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
    return this;
  }

  add(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const grown = Buffer.alloc((this.#length + bytes) * 2);
    grown.set(this.whole);
    this.#bytes = grown;
  }
}
