import { type FileKind, uploadOf } from "../variables/upload.ts";
import type { Entry } from "../session.ts";
import type { Api } from "./api.ts";

const HEAD_BYTES = 65_536;

/** Detects the kind of a file from its content: an export of a conversation, or data for a variable. */
async function contentKind(file: Blob): Promise<"export" | FileKind | undefined> {
  const head = await file.slice(0, HEAD_BYTES).text();
  // A line that is cut off at the end of the head is ignored.
  const isCut = file.size > HEAD_BYTES;
  const lines = head.replace(/^\uFEFF/, "").split(/\r?\n/);
  const whole = (isCut ? lines.slice(0, -1) : lines).filter((line) => line.trim() !== "");
  const [first = "", second] = whole;
  const record = jsonIn(first);
  if (record !== undefined && typeof record === "object" && record !== null) {
    if ("type" in record && record.type === "byref") return "export";
    return second !== undefined && jsonIn(second) !== undefined ? "records" : "json";
  }
  if (/^\s*[[{]/.test(head)) return "json";
  return isTable(whole) ? "csv" : undefined;
}

/**
 * Imports an export as a conversation, or CSV and JSON as a variable of a new one. Returns its id. Throws an error
 * with a message for the user for any other file.
 */
export async function importFile(
  file: File,
  { entry, api, id }: { readonly entry: Entry; readonly api: Api; readonly id: string },
): Promise<string> {
  const kind = await contentKind(file);
  if (kind === "export") return api.import(file);
  if (kind === undefined) {
    throw new Error(
      `Could not import ${file.name}: it is not a conversation export. To add data, use Add file.`,
    );
  }
  const { name, body, ...type } = await uploadOf(file, kind);
  await entry.client.conversation(id).variables.put(name, body, type);
  return id;
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** True if the same delimiter occurs equally often in each of the first lines. Quoted cells may contain it. */
function isTable(lines: readonly string[]): boolean {
  const plain = lines.slice(0, 5).map((line) => line.replaceAll(/"(?:[^"]|"")*"/g, ""));
  if (plain.length < 2) return false;
  return [",", ";", "\t", "|"].some((delimiter) => {
    const counts = plain.map((line) => line.split(delimiter).length - 1);
    return (counts[0] ?? 0) > 0 && counts.every((count) => count === counts[0]);
  });
}
