import * as limits from "../limits.ts";
import { ByrefError } from "../errors.ts";
import { csvText } from "../value/csv-text.ts";
import { isJsonArray, isScalar, type Json } from "../value/json.ts";
import { fencedJson, isTable, markdownTable, renderText } from "../value/render.ts";
import { requireWellFormed } from "../value/well-formed.ts";
import type { ValueLabels } from "../store/labels.ts";

/**
 * Identifies the call that appended the text from offset `from` on. If the call is repeated, it replaces
 * that text.
 */
interface FileAddition {
  readonly call: string;
  readonly from: number;
}

export interface FileInfo {
  readonly labels: ValueLabels;
  /** Changes with each write. */
  readonly version: string;
  readonly addition?: FileAddition;
}

export interface StoredFile extends FileInfo {
  readonly text: string;
}

export interface FileWrite extends Partial<ValueLabels> {
  /** Write only if the file has this version; null: only if there is no file. Otherwise throws `conflict`. */
  readonly expected?: string | null;
  readonly addition?: FileAddition;
}

/** Writes files, with the visibility and trust of their content. Throws `bad_path`. */
export interface FileWriter {
  write(
    path: string,
    content: FileContent,
    write: FileWrite,
  ): Promise<{ readonly path: string; readonly bytes: number }>;
}

/** The files of a conversation, by their paths in its folder. */
export interface Files extends FileWriter {
  info(path: string): Promise<FileInfo | undefined>;
  /** Throws `limit_exceeded` above `maxJsonBytes`, `bad_value` if the file is not text. */
  read(path: string): Promise<StoredFile | undefined>;
  /** Returns the paths that begin with the prefix, in any order. Throws `limit_exceeded`. */
  list(prefix: string): Promise<readonly string[]>;
}

export const fileFormats = ["json", "csv", "md", "txt"] as const;
export type FileFormat = (typeof fileFormats)[number];

export type FileContent =
  | { readonly text: string; readonly mediaType: string }
  | { readonly bytes: Uint8Array; readonly mediaType: string };

/** Returns a relative path that stays inside of its folder. Throws `bad_path`. */
export function filePathIn(target: string): string {
  const path = target.startsWith("file:") ? target.slice("file:".length) : target;
  if (path.length <= limits.maxLineChars && !NOT_IN_PATHS.test(path)) return path;
  const message = `A file is named by a relative path of at most ${limits.maxLineChars} characters, without "..", e.g. file:reports/orders.csv.`;
  throw new ByrefError("bad_path", message);
}

/**
 * A second scheme, segments that are empty or lead elsewhere, backslashes, control characters, lone
 * surrogates.
 */
const NOT_IN_PATHS = /^file:|(?:^|\/)\.{0,2}(?:\/|$)|[\\\p{Cc}\p{Cs}]/u;

/** Chooses the format by the file's extension. Default: text for strings, JSON for other values. */
export function formatFor(path: string, value: Json): FileFormat {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const known = fileFormats.find((format) => format === extension);
  if (known !== undefined) return known;
  if (extension === "markdown") return "md";
  return typeof value === "string" ? "txt" : "json";
}

/** Formats the value. Throws `bad_value` if it should be CSV and is not a table, and for half of a character. */
export function fileContent(value: Json, format: FileFormat): FileContent {
  if (format === "csv") return { text: csv(value), mediaType: "text/csv" };
  if (format === "json") return { text: JSON.stringify(value), mediaType: "application/json" };
  const isMarkdown = format === "md";
  const text = isMarkdown ? markdown(value) : renderText(value);
  if (!text.isWellFormed()) requireWellFormed(value, "A text file");
  return { text, mediaType: isMarkdown ? "text/markdown" : "text/plain" };
}

function csv(value: Json): string {
  if (!isJsonArray(value) || (value.length > 0 && !isTable(value))) {
    const message = "CSV is for an array of flat objects; export this as json.";
    throw new ByrefError("bad_value", message);
  }
  return csvText(value);
}

/** Formats all rows and columns, unlike the shortened table in an answer (`renderBlock`). */
export function markdown(value: Json): string {
  if (isScalar(value)) return renderText(value);
  const isRows = isJsonArray(value) && isTable(value);
  if (!isRows) return `${fencedJson(JSON.stringify(value, null, 2))}\n`;
  return `${markdownTable(value)}\n`;
}
