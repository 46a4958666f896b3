import { limitExceeded } from "../errors.ts";
import * as limits from "../limits.ts";
import { clip } from "./characters.ts";
import {
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonArray,
  type JsonObject,
} from "./json.ts";

/** Renders a value inside a string of a tool input: strings as they are, everything else as compact JSON. */
export function renderText(value: Json): string {
  return typeof value === "string" ? value : write(value);
}

/** Serializes a value. A caller's own value may be nested deeper than a stored one, and too deep for JSON. */
function write(value: Json, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const sizes = { maximum: limits.maxDepth, actual: Infinity };
    throw limitExceeded("maxDepth", { ...sizes, advice: "Refer to a part of it." });
  }
}

/**
 * Renders a value inside a line of a response. Like `renderText`, but long JSON is cut and reports what is missing.
 * `space` follows each comma and colon outside strings.
 */
export function renderInline(value: Json, space: "" | " " = ""): string {
  if (isScalar(value)) return renderText(value);
  const writeValue = space === "" ? (inner: Json) => write(inner) : writeSpaced;
  const { written, isCut, left } = takeWithin(limits.maxExcerptChars, value, { space, writeValue });
  const shown = `${written.join(`,${space}`)}${isCut ? "… (cut)" : ""}`;
  return inBrackets(value, left > 0 ? `${shown},${space}… (+${left} more)` : shown);
}

/** Serializes a value in one line, with a space after each comma and colon outside strings. */
function writeSpaced(value: Json): string {
  // Line breaks in strings are escaped.
  return write(value, 1).replaceAll(/,\n */g, ", ").replaceAll(/\n */g, "");
}

function inBrackets(value: JsonArray | JsonObject, text: string): string {
  return isJsonArray(value) ? `[${text}]` : `{${text}}`;
}

interface Taken {
  readonly written: readonly string[];
  /** True if the first member alone was too long. */
  readonly isCut: boolean;
  /** The number of further members. */
  readonly left: number;
}

interface Writing {
  /** What begins each member. */
  readonly indent?: string;
  readonly space: string;
  readonly writeValue: (value: Json) => string;
}

/** Writes as many elements of an array, or members of an object with their keys, as fit into `chars` together. */
function takeWithin(
  chars: number,
  value: JsonArray | JsonObject,
  { indent = "", space, writeValue }: Writing,
): Taken {
  const keys = isJsonArray(value) ? [] : Object.keys(value);
  const count = isJsonArray(value) ? value.length : keys.length;
  const written: string[] = [];
  let used = 0;
  while (written.length < count) {
    const key = keys[written.length];
    const name = key === undefined ? "" : `${JSON.stringify(key)}:${space}`;
    const inner = (value as JsonObject)[key ?? written.length] ?? null;
    const text = `${indent}${name}${writeValue(inner)}`;
    if (used + text.length > chars) {
      if (written.length > 0) break;
      return { written: [clip(text, chars)], isCut: true, left: count - 1 };
    }
    written.push(text);
    used += text.length + 1;
  }
  return { written, isCut: false, left: count - written.length };
}

/**
 * Renders an array or object as a Markdown block: a table for an array of flat objects, fenced JSON
 * otherwise. Omitted parts are reported in a line below that names `source`. Has no line breaks at its
 * ends.
 */
export function renderBlock(value: JsonArray | JsonObject, source: string): string {
  return isTable(value) ? renderTable(value, source) : renderFence(value, source);
}

/** True for one or more flat objects (all values scalar) with at least one column. Cost: linear. */
export function isTable(value: JsonArray | JsonObject): value is readonly JsonObject[] {
  if (!isJsonArray(value) || value.length === 0) return false;
  let hasColumn = false;
  for (const row of value) {
    if (!isJsonObject(row)) return false;
    for (const cell of Object.values(row)) {
      if (!isScalar(cell)) return false;
      hasColumn = true;
    }
  }
  return hasColumn;
}

function renderTable(rows: readonly JsonObject[], source: string): string {
  const keys = columnsOf(rows);
  const columns = keys.slice(0, limits.maxTableColumns);
  const shown = rows.slice(0, limits.maxShownItems);
  const table = markdownTable(shown, columns);
  const left = leftOut([
    [rows.length - shown.length, "row"],
    [keys.length - columns.length, "column"],
  ]);
  return table + (left === "" ? "" : `\n\n… ${left} in ${source}`);
}

/** Renders rows as a Markdown table, without a line break at its end. */
export function markdownTable(
  rows: readonly JsonObject[],
  columns: readonly string[] = columnsOf(rows),
): string {
  const cells = rows.map((row) => cellsOf(row, columns));
  return [columns, columns.map(() => "---"), ...cells].map(tableLine).join("\n");
}

/** Returns the keys of all rows, in order of first occurrence. */
function columnsOf(rows: readonly JsonObject[]): readonly string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** Returns a row's cells as texts; empty if missing or null. */
function cellsOf(row: JsonObject, columns: readonly string[]): readonly string[] {
  return columns.map((key) => renderText((Object.hasOwn(row, key) ? row[key] : null) ?? ""));
}

/** Renders a line of a Markdown table, without a line break. */
function tableLine(cells: readonly string[]): string {
  const texts = cells.map((text) =>
    // A backslash before it would be escaped in place of the bar.
    text.replaceAll(/(?<!\\)(\\*)\|/g, "$1$1\\|").replaceAll(/\r\n|[\r\n\u2028\u2029]/g, " "),
  );
  return `| ${texts.join(" | ")} |`;
}

function leftOut(parts: readonly (readonly [count: number, noun: string])[]): string {
  return parts
    .filter(([count]) => count > 0)
    .map(([count, noun]) => `${count} more ${noun}${count === 1 ? "" : "s"}`)
    .join(" and ");
}

function renderFence(value: JsonArray | JsonObject, source: string): string {
  const writeValue = (inner: Json) => write(inner, 2).replaceAll("\n", "\n  ");
  const writing = { indent: "  ", space: " ", writeValue };
  const { written, isCut, left } = takeWithin(limits.maxBlockChars, value, writing);
  const text = inBrackets(value, written.length === 0 ? "" : `\n${written.join(",\n")}\n`);
  const noun = isJsonArray(value) ? "item" : "key";
  const cut = isCut ? [`cut: more of the ${noun}`] : [];
  const more = [...cut, leftOut([[left, noun]])].filter((part) => part !== "").join(" and ");
  return more === "" ? fencedJson(text) : `${fencedJson(text)}\n\n… ${more} in ${source}`;
}

/** Renders any text as a Markdown code block, without a line break at its end. */
export function fencedJson(text: string): string {
  const fence = "`".repeat(Math.max(3, longestBacktickRun(text) + 1));
  return `${fence}json\n${text}\n${fence}`;
}

function longestBacktickRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0);
}
