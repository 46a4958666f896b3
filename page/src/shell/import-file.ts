import type { Entry } from "../session.ts";
import { type FileKind, uploadOf } from "../variables/upload.ts";
import { jsonIn } from "../words.ts";

/** Size of an import's parts, below the server's limit. */
const PART_BYTES = 90 * 1024 * 1024;

/** Uploads an export in parts. Resolves with the new conversation's id. */
async function importExport({ ask }: Entry, file: Blob): Promise<string> {
  const of = Math.max(1, Math.ceil(file.size / PART_BYTES));
  let upload: string | undefined;
  for (let part = 1; part <= of; part++) {
    const body = file.slice((part - 1) * PART_BYTES, part * PART_BYTES);
    const answer = await ask<{ readonly id?: string; readonly import?: string }>(
      "POST",
      "/conversations/import",
      {
        query: { part, of, import: upload },
        headers: { "content-type": "application/x-ndjson" },
        body,
      },
    );
    if (answer.id !== undefined) return answer.id;
    upload = answer.import;
  }
  throw new Error("The import did not end.");
}

/**
 * Imports an export as a conversation, or CSV and JSON as a variable of a new one. Returns its id. Throws an error
 * with a message for the user for any other file.
 */
export async function importFile(entry: Entry, file: File, id: string): Promise<string> {
  const kind = await contentKind(file);
  if (kind === "export") return importExport(entry, file);
  if (kind === undefined) {
    throw new Error(
      `Could not import ${file.name}: it is not a conversation export. To add data, use Add file.`,
    );
  }
  const { name, body, ...type } = await uploadOf(file, kind);
  await entry.client.conversation(id).variables.put(name, body, type);
  return id;
}

const HEAD_BYTES = 65_536;

/** Detects the kind of a file from its content: an export of a conversation, or data for a variable. */
async function contentKind(file: Blob): Promise<"export" | FileKind | undefined> {
  const head = await file.slice(0, HEAD_BYTES).text();
  // A line that is cut off at the end of the head is ignored.
  const lines = head.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (file.size > HEAD_BYTES) lines.pop();
  const [first, second, ...rest] = lines.filter((line) => line.trim() !== "");
  const record = jsonIn(first);
  if (typeof record === "object" && record !== null) {
    if ("type" in record && record.type === "byref") return "export";
    return jsonIn(second) === undefined ? "json" : "records";
  }
  if (/^\s*[[{]/.test(head)) return "json";
  return isTable([first, second, ...rest.slice(0, 3)]) ? "csv" : undefined;
}

/** True if the same delimiter occurs equally often in each line. Quoted cells may contain it. */
function isTable([first, ...others]: readonly (string | undefined)[]): boolean {
  const count = (line = "", delimiter: string) =>
    line.replaceAll(/"(?:[^"]|"")*"/g, "").split(delimiter).length;
  return [",", ";", "\t", "|"].some(
    (delimiter) =>
      count(first, delimiter) > 1 &&
      others.every((line) => count(line, delimiter) === count(first, delimiter)),
  );
}
