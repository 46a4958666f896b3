import { limits } from "../limits.ts";
import {
  clip,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonArray,
  type JsonObject,
} from "./json.ts";

/** A value as text inside a tool's string: strings as they are, everything else as compact JSON. */
export function renderText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value inside a line of an answer: as `renderText`, but long JSON is cut and says what is missing. */
export function renderInline(value: Json): string {
  if (isScalar(value)) return renderText(value);
  return isJsonArray(value) ? inlineArray(value) : inlineObject(value);
}

function inlineArray(values: JsonArray): string {
  const written = takeWithin(limits.maxInlineJsonChars, values, (value) => JSON.stringify(value));
  return `[${joinWithRest(written, values.length)}]`;
}

function inlineObject(value: JsonObject): string {
  const entries = Object.entries(value);
  const written = takeWithin(
    limits.maxInlineJsonChars,
    entries,
    ([key, inner]) => `${JSON.stringify(key)}:${JSON.stringify(inner)}`,
  );
  return `{${joinWithRest(written, entries.length)}}`;
}

function joinWithRest(written: readonly string[], total: number): string {
  const rest = total - written.length;
  if (rest === 0) return written.join(",");
  return [...written, `… (+${rest} more)`].join(",");
}

/** As many items, written out, as fit into `chars`; a first one that is too long is cut. */
function takeWithin<Item>(
  chars: number,
  items: readonly Item[],
  write: (item: Item) => string,
): string[] {
  const written: string[] = [];
  let used = 0;
  for (const item of items) {
    const text = write(item);
    if (used + text.length > chars) {
      if (written.length === 0) written.push(`${clip(text, chars)}…`);
      break;
    }
    written.push(text);
    used += text.length + 1;
  }
  return written;
}

/**
 * An array or object as a Markdown block: a table for an array of flat objects, fenced JSON for the
 * rest. What is left out is said in a line below, which names `source`. No line breaks at its ends.
 */
export function renderBlock(value: JsonArray | JsonObject, source: string): string {
  return isTable(value) ? renderTable(value, source) : renderFence(value, source);
}

/** True for one or more flat objects (every value a scalar) with at least one column. Cost: linear. */
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
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = keys.slice(0, limits.maxTableColumns);
  const shown = rows.slice(0, limits.maxTableRows);
  const lines = [
    tableLine(columns.map(cellText)),
    tableLine(columns.map(() => "---")),
    ...shown.map((row) =>
      tableLine(columns.map((key) => (Object.hasOwn(row, key) ? cell(row[key]) : ""))),
    ),
  ];
  const left = leftOut([
    [rows.length - shown.length, "row"],
    [keys.length - columns.length, "column"],
  ]);
  return lines.join("\n") + (left === "" ? "" : `\n\n… ${left} in ${source}`);
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function cell(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return cellText(renderText(value));
}

function cellText(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\r\n|\r|\n/g, " ");
}

function leftOut(parts: readonly (readonly [count: number, noun: string])[]): string {
  return parts
    .filter(([count]) => count > 0)
    .map(([count, noun]) => `${count} more ${noun}${count === 1 ? "" : "s"}`)
    .join(" and ");
}

function renderFence(value: JsonArray | JsonObject, source: string): string {
  const { text, left } = isJsonArray(value) ? fenceArray(value) : fenceObject(value);
  const fence = "`".repeat(Math.max(3, longestBacktickRun(text) + 1));
  const block = `${fence}json\n${text}\n${fence}`;
  return left === "" ? block : `${block}\n\n… ${left} in ${source}`;
}

function fenceArray(values: JsonArray) {
  if (values.length === 0) return { text: "[]", left: "" };
  const written = takeWithin(limits.maxBlockJsonChars, values, indented);
  const text = `[\n${written.map((line) => `  ${line}`).join(",\n")}\n]`;
  return { text, left: leftOut([[values.length - written.length, "item"]]) };
}

function fenceObject(value: JsonObject) {
  const entries = Object.entries(value);
  if (entries.length === 0) return { text: "{}", left: "" };
  const written = takeWithin(
    limits.maxBlockJsonChars,
    entries,
    ([key, inner]) => `${JSON.stringify(key)}: ${indented(inner)}`,
  );
  const text = `{\n${written.map((line) => `  ${line}`).join(",\n")}\n}`;
  return { text, left: leftOut([[entries.length - written.length, "key"]]) };
}

function indented(value: Json): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
}

function longestBacktickRun(text: string): number {
  let longest = 0;
  let run = 0;
  for (let index = 0; index < text.length; index++) {
    run = text.charCodeAt(index) === 96 ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}
