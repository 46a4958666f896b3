import { type Json, parsedJson } from "./json.ts";

/**
 * Parses a span of a JSON array that was cut at marks. Its last element is followed by a comma or by the
 * closing bracket. An empty text has no elements.
 */
export function parseElements(text: string): Json[] {
  return parseArray(`[${text.trimEnd().slice(0, -1)}]`);
}

/** Parses stored NDJSON, or a span of it that was cut at marks. */
export function parseRecords(text: string): Json[] {
  return parseLines(recordLines(text));
}

/** Parses records, each in a JSON text of its own. */
export function parseLines(lines: readonly string[]): Json[] {
  return parseArray(`[${lines.join(",")}]`);
}

/** Returns the lines that are records: not the blank ones. A byte order mark is none of them. */
export function recordLines(text: string): readonly string[] {
  const start = text.startsWith("\uFEFF") ? 1 : 0;
  const end = text.endsWith("\n") ? -1 : undefined;
  const lines = text.slice(start, end).split("\n");
  return lines.some(isBlankLine) ? lines.filter((line) => !isBlankLine(line)) : lines;
}

/** True for a line of spaces, tabs and carriage returns, which is no record. */
export function isBlankLine(line: string): boolean {
  return line.length < 1 || (line.charCodeAt(0) <= 32 && /^[ \t\r]*$/.test(line));
}

function parseArray(text: string): Json[] {
  // The value of a text in brackets is an array.
  return parsedJson(text) as Json[];
}
