import type { CsvDelimiter } from "../../store/bytes/receive.ts";
import { JSON_TYPE, RECORDS_TYPE, TEXT_TYPE } from "../../store/bytes/content.ts";
import { csvLine } from "../../value/csv-text.ts";
import { jsonIn } from "../../value/json.ts";

/** What a person pasted into a message, and the rest of the message. */
export interface Paste {
  /** The question, without the paste. May be empty. */
  readonly question: string;
  readonly text: string;
  /** How to read it: JSON, records, or text. */
  readonly mediaType: string;
  readonly delimiter?: CsvDelimiter;
}

/** A question around a paste is shorter than this. */
const MAX_QUESTION_CHARS = 1_000;
/** First and last lines of a table whose columns are counted. */
const COUNTED_LINES = 50;
/** A header's cell is shorter, and no sentence or item of a list. */
const MAX_HEADER_CHARS = 60;
const PROSE = /^\s*(?:[-*+•]|\d+[.)])\s|[.!?:]\s*$/u;
const FENCE = /^(`{3,}|~{3,})[^\n]*\n/mu;
const RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/u;

/**
 * Separates what was pasted into a long text: a fenced block, a table or JSON, else all but a short first or last
 * paragraph. Reads the text a fixed number of times.
 */
export function pasteIn(text: string): Paste {
  const fence = FENCE.exec(text.slice(0, MAX_QUESTION_CHARS));
  const closing = fence === null ? -1 : text.lastIndexOf(`\n${fence[1]}`);
  if (fence !== null && closing > Math.max(fence.index, text.length - MAX_QUESTION_CHARS)) {
    const inner = text.slice(fence.index + fence[0].length, closing);
    const after = text.slice(closing + 1).replace(/^[`~]+/u, "");
    const question = joined(text.slice(0, fence.index), after);
    return dataIn(question, inner) ?? { question, text: inner, mediaType: TEXT_TYPE };
  }
  const head = text.slice(0, MAX_QUESTION_CHARS);
  // The ends of the first paragraph and of the first line; 0 if there is none.
  const first = Math.max(head.search(/\n[ \t]*\r?\n/u), 0);
  const line = Math.max(head.indexOf("\n"), 0);
  const last = startOfLast(text);
  const parted = (start: number, end: number) => ({
    question: joined(text.slice(0, start), text.slice(end)),
    // The first line keeps its indentation.
    text: text
      .slice(start, end)
      .replace(/^\s*\n/u, "")
      .trimEnd(),
  });
  for (const start of new Set([0, first, line])) {
    for (const end of [text.length, last]) {
      if (end <= start) continue;
      const { question, text: inner } = parted(start, end);
      const data = dataIn(question, inner);
      if (data !== undefined) return data;
    }
  }
  const rest = parted(first, last);
  const isAll = rest.question === "" || rest.text === "";
  return { ...(isAll ? { question: "", text } : rest), mediaType: TEXT_TYPE };
}

/** Where a short last paragraph begins; the end of the text if there is none. */
function startOfLast(text: string): number {
  const end = text.trimEnd();
  const from = Math.max(end.length - MAX_QUESTION_CHARS, 0);
  const blank = [...end.slice(from).matchAll(/\n[ \t]*\r?\n/gu)].at(-1);
  return blank === undefined ? text.length : from + blank.index;
}

function joined(before: string, after: string): string {
  return [before.trim(), after.trim()].filter((one) => one !== "").join("\n\n");
}

/** The paste, if the text is data. */
function dataIn(question: string, text: string): Paste | undefined {
  const lines = text.split(/\r?\n/u).filter((line) => line.trim() !== "");
  const [first = "", second = ""] = lines;
  if (/^\s*[[{]/u.test(text)) {
    if (isContainer(text)) return { question, text, mediaType: JSON_TYPE };
    const areRecords = lines.length > 1 && lines.every(isContainer);
    return areRecords ? { question, text, mediaType: RECORDS_TYPE } : undefined;
  }
  if (lines.length < 3) return undefined;
  const isRule = second.length <= MAX_QUESTION_CHARS && RULE.test(second);
  if (isRule && lines.every((line) => line.includes("|"))) {
    const rows = lines.toSpliced(1, 1).map((line) => csvLine(cellsIn(line)));
    return { question, text: rows.join(""), mediaType: "text/csv", delimiter: "comma" };
  }
  const counted = [...lines.slice(0, COUNTED_LINES), ...lines.slice(-COUNTED_LINES)];
  const isHeader = first.split(/[\t,;]/u).every((cell) => cell.length <= MAX_HEADER_CHARS);
  if (!isHeader || PROSE.test(first)) return undefined;
  const found = DELIMITERS.find(([, character]) => {
    const counts = new Set(counted.map((line) => columnsIn(line, character)));
    // Lines of code begin with tabs, or end with a semicolon.
    const names = first.split(character).filter((name) => name.trim() !== "");
    return counts.size === 1 && !counts.has(1) && names.length > 1;
  });
  return found && { question, text, mediaType: "text/csv", delimiter: found[0] };
}

const DELIMITERS = [
  ["tab", "\t"],
  ["comma", ","],
  ["semicolon", ";"],
] as const;

function isContainer(text: string): boolean {
  const value = jsonIn(text);
  return typeof value === "object" && value !== null;
}

function cellsIn(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/u, "")
    .replace(/(?<!\\)\|$/u, "");
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Delimiters in quotes are parts of a cell. */
function columnsIn(line: string, delimiter: string): number {
  return line.replace(/"(?:[^"]|"")*"/gu, "").split(delimiter).length;
}
