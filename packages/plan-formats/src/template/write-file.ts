import { toolFiles } from "../../../../src/internal-tool.ts";
import {
  joinedLabels,
  renderText,
  retryConflicts,
  type ValueLabels,
} from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import type { TemplateWriteMode } from "./template-step.ts";

export interface Writing {
  readonly path: string;
  readonly value: Json;
  readonly mode: TemplateWriteMode;
  readonly labels: ValueLabels;
  /** The call's key, the same in each attempt. A repeated call removes its earlier addition first. */
  readonly call: string;
}

/** Writes the file and returns its path. Throws `conflict`, and errors of `files`. */
export async function writeFile(files: toolFiles.Files, writing: Writing): Promise<string> {
  const { mode, path, value, labels } = writing;
  if (mode === "replace") return (await files.write(path, contentFor(path, value), labels)).path;
  const write = mode === "append" ? append : writeNew;
  return retryConflicts(files, () => write(files, writing));
}

async function append(
  files: toolFiles.Files,
  { path, value, labels, call }: Writing,
): Promise<string> {
  const file = await files.read(path);
  // Without what an earlier attempt of the call has added.
  const own = file?.addition?.call === call ? file.addition.from : undefined;
  const before = file?.text.slice(0, own) ?? "";
  const content = { ...contentFor(path, ""), text: joinParagraphs(before, renderText(value)) };
  await files.write(path, content, {
    ...joinedLabels(file === undefined ? [labels] : [file.labels, labels]),
    expected: file?.version ?? null,
    addition: { call, from: before.length },
  });
  return path;
}

async function writeNew(
  files: toolFiles.Files,
  { path, value, labels, call }: Writing,
): Promise<string> {
  const [, stem = path, end = ""] = /^(.*[^/])(\.[^./]+)$/s.exec(path) ?? [];
  const named = { start: `${stem}_`, end };
  const last = highestIn(await files.list(named.start), named);
  const info = last < 0 ? undefined : await files.info(pathAt(last, named));
  const isOwn = info?.addition?.call === call;
  const written = pathAt(isOwn ? last : last + 1, named);
  await files.write(written, contentFor(written, value), {
    ...labels,
    expected: isOwn ? info.version : null,
    addition: { call, from: 0 },
  });
  return written;
}

/** The text before and after the number: `notes/a_000.md`, `notes/a_001.md` … for `notes/a.md`. */
interface NumberedNames {
  readonly start: string;
  readonly end: string;
}

function pathAt(number: number, { start, end }: NumberedNames): string {
  return `${start}${String(number).padStart(3, "0")}${end}`;
}

/** The highest number in use. -1 if there is none. */
function highestIn(paths: readonly string[], { start, end }: NumberedNames): number {
  const numbers = paths
    .filter((path) => path.endsWith(end))
    .map((path) => path.slice(start.length, path.length - end.length))
    .filter((digits) => /^\d{3,9}$/.test(digits));
  return numbers.reduce((highest, digits) => Math.max(highest, Number(digits)), -1);
}

const mediaTypes: Readonly<Record<toolFiles.FileFormat, string>> = {
  json: "application/json",
  csv: "text/csv",
  md: "text/markdown",
  txt: "text/plain",
};

/**
 * The content of a file: a text as the model wrote it, any other value in the format of the file's extension.
 */
function contentFor(path: string, value: Json): toolFiles.FileContent {
  const format = toolFiles.formatFor(path, value);
  return typeof value === "string"
    ? { text: value, mediaType: mediaTypes[format] }
    : toolFiles.fileContent(value, format);
}

export function joinParagraphs(before: string, text: string): string {
  return before === "" ? text : `${before}\n\n${text}`;
}
