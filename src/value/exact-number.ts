import { ByrefError } from "../errors.ts";
import { clip } from "./characters.ts";

/**
 * A number that a double does not give back, such as 1234567890123456789 or 1e400, with the digits that were
 * written. `JSON.stringify` writes them. Made by V8's `JSON.rawJSON`: it is an object, so copies and `typeof`
 * lose what it is.
 */
export interface ExactNumber {
  readonly rawJSON: string;
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** What the library of types does not have yet. A global declaration would change the types of applications. */
interface SourceJson {
  /** Missing in Node 20. */
  rawJSON?(text: string): ExactNumber;
  isRawJSON?(value: unknown): value is ExactNumber;
  parse(text: string, reviver?: Reviver): unknown;
}

const json = JSON as SourceJson;
const { rawJSON, isRawJSON } = json.rawJSON === undefined ? flaggedJson() : json;

/** In Node 20, V8 has them behind a flag, and new contexts have them once it is set. */
function flaggedJson(): Pick<SourceJson, "rawJSON" | "isRawJSON"> {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(name: string): object };
  };
  const v8 = process?.getBuiltinModule?.("node:v8") as
    | { setFlagsFromString?(flags: string): void }
    | undefined;
  const vm = process?.getBuiltinModule?.("node:vm") as
    | { runInNewContext?(code: "JSON"): SourceJson }
    | undefined;
  v8?.setFlagsFromString?.("--harmony-json-parse-with-source");
  return vm?.runInNewContext?.("JSON") ?? {};
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return isRawJSON?.(value) === true;
}

/**
 * Returns the number of a JSON text: a double, or its digits if a double does not give them back. Throws
 * `number_not_exact` where the platform has no `JSON.rawJSON`.
 */
export function exactNumber(source: string): number | ExactNumber {
  if (isDouble(source)) return Number(source);
  if (rawJSON !== undefined) return rawJSON(source);
  const message = `${clip(source, 80)} needs JSON.rawJSON, which this platform does not have.`;
  throw new ByrefError("number_not_exact", message);
}

/** The keys and indices that lead to a part of a value. */
type Place = readonly string[];

type Convert = (number: ExactNumber, place: Place) => unknown;

/** Returns the value with something else in place of each such number. Parts without any are shared. Cost: linear. */
export function mapExactNumbers(value: unknown, convert: Convert): unknown {
  return holdsExactNumber(value) ? mapBelow(value, convert, []) : value;
}

function mapBelow(value: unknown, convert: Convert, place: Place): unknown {
  if (isExactNumber(value)) return convert(value, place);
  if (!isContainer(value)) return value;
  let isSame = true;
  const entries = Object.entries(value).map(([key, inner]: [string, unknown]) => {
    const mapped = mapBelow(inner, convert, [...place, key]);
    isSame &&= mapped === inner;
    return [key, mapped] as const;
  });
  if (isSame) return value;
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** True if a part of the value is such a number. Cost: linear. */
export function holdsExactNumber(value: unknown): boolean {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (isExactNumber(next)) return true;
    if (isContainer(next)) for (const inner of Object.values(next)) open.push(inner);
  }
  return false;
}

/** True for an array or a plain object. */
function isContainer(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Parses JSON, with its keys and the digits of numbers that a double does not give back. Throws as `JSON.parse` does.
 */
export function parseExactly(text: string): unknown {
  const marked = text.includes("\\") ? markEscapedKeys(text) : undefined;
  if (marked === undefined && !hasExactNumber(text)) return JSON.parse(text);
  try {
    if (marked === undefined) return json.parse(text, keepDigits);
    return json.parse(marked.text, (key, value, context) =>
      key.startsWith(marked.prefix) ? undefined : keepDigits(key, value, context),
    );
  } catch (error) {
    // Nested too deep for V8 to look at each value: far deeper than a value may be.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

/** True if a double gives the number back. Zeros at its end and the sign of zero do not count. */
export function isDouble(source: string): boolean {
  if (source.length <= DOUBLE_DIGITS && !LONG_EXPONENT.test(source)) return true;
  const written = String(Number(source));
  return written === source || decimalOf(written) === decimalOf(source);
}

/** Returns the double of which these are up to 17 digits, such as 0.10000000000000001. */
export function printedDouble({ rawJSON: source }: ExactNumber): number | undefined {
  const digits = significantDigits(source);
  if (digits > 17) return undefined;
  const double = Number(source);
  return decimalOf(double.toPrecision(digits)) === decimalOf(source) ? double : undefined;
}

/** True for a number without a fraction, however many digits it has. */
export function isWhole(value: unknown): boolean {
  if (!isExactNumber(value)) return Number.isInteger(value);
  return /e\d+$/.test(decimalOf(value.rawJSON) ?? "");
}

function significantDigits(source: string): number {
  const [, digits = "0"] = /^-?(\d+)/.exec(decimalOf(source) ?? "") ?? [];
  return digits.length;
}

/** A double gives back decimals with this many digits. */
const DOUBLE_DIGITS = 15;
const LONG_EXPONENT = /e[-+]?\d{3}/i;

/** The digits without zeros at either end, and the power of ten that they count. */
function decimalOf(text: string): string | undefined {
  const [, sign, whole, fraction = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === "0") start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === "0") end--;
  if (start === end) return "0";
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i;

/** Looks for numbers that a double may not hold. May find one in a string. Takes half as long as parsing. */
export function hasExactNumber(text: string): boolean {
  for (const [source] of text.matchAll(LONG_NUMBER)) if (!isDouble(source)) return true;
  return false;
}

const LONG_NUMBER = /(?<=^|[[,:\s])-?(?:\d[\d.]{15,}(?:[eE][-+]?\d+)?|\d[\d.]*[eE][-+]?\d{3,})/g;

const keepDigits: Reviver = (_key, value, { source } = {}) =>
  typeof value === "number" && source !== undefined ? exactNumber(source) : value;

/**
 * Puts a new key before each key of a JSON text that has escapes: V8 may read such a key as another one that it has read
 * after the same keys, in any text (nodejs/node#63785). Returns the text and the prefix of the new keys, which are to be
 * removed; undefined for a text without escapes in keys. Throws as `JSON.parse` does. Cost: linear.
 */
function markEscapedKeys(text: string): { text: string; prefix: string } | undefined {
  const prefix = `${crypto.randomUUID()} `;
  let marked = "";
  let taken = 0;
  for (const start of escapedKeysIn(text)) {
    // For its errors.
    if (taken === 0) JSON.parse(text);
    marked += `${text.slice(taken, start)}"${prefix}${start}":0,`;
    taken = start;
  }
  return taken === 0 ? undefined : { text: marked + text.slice(taken), prefix };
}

/** Yields where keys with escapes begin. */
function* escapedKeysIn(text: string): Generator<number> {
  // Valid JSON has backslashes only in strings, and no quote is between one and the start of its string.
  for (let escape = text.indexOf("\\"); escape >= 0;) {
    const start = text.lastIndexOf('"', escape);
    let end = text.indexOf('"', escape);
    while (escape >= 0 && escape < end) {
      if (escape + 1 === end) end = text.indexOf('"', end + 1);
      escape = text.indexOf("\\", escape + 2);
    }
    if (end < 0) return;
    COLON.lastIndex = end + 1;
    if (COLON.test(text)) yield start;
  }
}

const COLON = /[ \t\n\r]*:/y;
