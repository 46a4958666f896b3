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
  const writeItem = (item: Json) => (space === "" ? write(item) : writeSpaced(item));
  if (isJsonArray(value)) {
    const taken = takeWithin(limits.maxExcerptChars, value, writeItem);
    return `[${joinWithRest(taken, value.length, space)}]`;
  }
  const keys = Object.keys(value);
  const writeKey = (key: string) =>
    `${JSON.stringify(key)}:${space}${writeItem(value[key] ?? null)}`;
  const taken = takeWithin(limits.maxExcerptChars, keys, writeKey);
  return `{${joinWithRest(taken, keys.length, space)}}`;
}

/** Serializes a value in one line, with a space after each comma and colon outside strings. */
function writeSpaced(value: Json): string {
  // Line breaks in strings are escaped.
  return write(value, 1).replaceAll(/,\n */g, ", ").replaceAll(/\n */g, "");
}

function joinWithRest({ written, isCut }: Taken, total: number, space: string): string {
  const rest = total - written.length;
  const shown = `${written.join(`,${space}`)}${isCut ? "… (cut)" : ""}`;
  return rest > 0 ? `${shown},${space}… (+${rest} more)` : shown;
}

interface Taken {
  readonly written: readonly string[];
  /** True if the first item alone was too long. */
  readonly isCut: boolean;
}

/** Writes as many items as fit into `chars` together. */
function takeWithin<Item>(
  chars: number,
  items: readonly Item[],
  writeItem: (item: Item) => string,
): Taken {
  const written: string[] = [];
  let used = 0;
  for (const item of items) {
    const text = writeItem(item);
    if (used + text.length > chars) {
      if (written.length > 0) break;
      return { written: [clip(text, chars)], isCut: true };
    }
    written.push(text);
    used += text.length + 1;
  }
  return { written, isCut: false };
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
    text.replaceAll(/(?<!\\)(\\*)\|/g, "$1$1\\|").replaceAll(/\r\n|\r|\n/g, " "),
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
  const { text, left } = isJsonArray(value) ? fenceArray(value) : fenceObject(value);
  const block = fencedJson(text);
  return left === "" ? block : `${block}\n\n… ${left} in ${source}`;
}

/** Renders any text as a Markdown code block, without a line break at its end. */
export function fencedJson(text: string): string {
  const fence = "`".repeat(Math.max(3, longestBacktickRun(text) + 1));
  return `${fence}json\n${text}\n${fence}`;
}

function fenceArray(values: JsonArray) {
  if (values.length === 0) return { text: "[]", left: "" };
  const taken = takeWithin(limits.maxBlockChars, values, indented);
  return { text: `[\n${taken.written.join(",\n")}\n]`, left: leftOf(taken, values.length, "item") };
}

function fenceObject(value: JsonObject) {
  const keys = Object.keys(value);
  if (keys.length === 0) return { text: "{}", left: "" };
  const taken = takeWithin(
    limits.maxBlockChars,
    keys,
    (key) => `  ${JSON.stringify(key)}: ${indented(value[key] ?? null).trimStart()}`,
  );
  return { text: `{\n${taken.written.join(",\n")}\n}`, left: leftOf(taken, keys.length, "key") };
}

function leftOf({ written, isCut }: Taken, total: number, noun: string): string {
  const rest = leftOut([[total - written.length, noun]]);
  if (!isCut) return rest;
  return rest === "" ? `cut: more of the ${noun}` : `cut: more of the ${noun} and ${rest}`;
}

function indented(value: Json): string {
  return `  ${write(value, 2).replaceAll("\n", "\n  ")}`;
}

function longestBacktickRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0);
}
