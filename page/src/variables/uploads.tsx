import { useEffect, useState } from "react";
import type { PutOptions } from "../../../packages/client/src/client.ts";
import { IconButton } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { bytesInWords, codeOf, jsonIn, problemWords } from "../words.ts";

interface Uploading {
  readonly id: number;
  readonly file: File;
}

let lastId = 0;

/** Saves files as variables, while an `UploadList` shows them. `onSaved` receives the name of each. */
export function useUploads(onSaved: (name: string) => void) {
  const [uploads, setUploads] = useState<readonly Uploading[]>([]);
  const dismiss = (id: number) => setUploads((all) => all.filter((one) => one.id !== id));
  const add = (files: Iterable<File>) => {
    const added = Array.from(files, (file) => ({ id: ++lastId, file }));
    setUploads((all) => [...all, ...added]);
  };
  return { uploads, add, dismiss, onSaved };
}

type Uploads = ReturnType<typeof useUploads>;

/** State of the files that were dropped or chosen. */
export function UploadList({ uploads, dismiss, onSaved }: Uploads) {
  return (
    <ul className="variables-uploads" aria-live="polite">
      {uploads.map(({ id, file }) => (
        <Upload key={id} {...{ file, onSaved }} dismiss={() => dismiss(id)} />
      ))}
    </ul>
  );
}

interface UploadProps extends Pick<Uploads, "onSaved"> {
  readonly file: File;
  readonly dismiss: () => void;
}

const SAVED_SHOWN_MS = 4_000;

function Upload({ file, onSaved, dismiss }: UploadProps) {
  const { variables } = useConversation().session.conversation;
  const [stage, setStage] = useState<"busy" | "exists" | "saved" | "failed">("busy");
  const [words, setWords] = useState("Reading…");
  const tell = (next: typeof stage, said: string) => {
    setStage(next);
    setWords(said);
  };
  const send = async (options: PutOptions) => {
    const { name, body, ...type } = await uploadOf(file);
    tell("busy", `Sending ${bytesInWords(body.size)}…`);
    try {
      const info = await variables.put(name, body, { ...type, ...options });
      tell("saved", `Saved as $${info.name}`);
      setTimeout(dismiss, SAVED_SHOWN_MS);
      onSaved(info.name);
    } catch (error) {
      if (codeOf(error) !== "precondition_failed") throw error;
      tell("exists", `$${name} already exists.`);
    }
  };
  const attempt = (options: PutOptions) =>
    void send(options).catch((error: unknown) => tell("failed", problemWords(error)));
  useEffect(() => {
    attempt({ ifNoneMatch: "*" });
  }, []);
  return (
    <li className={`variables-upload variables-${stage}`}>
      <span className="variables-file">{file.name}</span>
      <span className="variables-words">{words}</span>
      {stage === "exists" && (
        <span className="variables-choices">
          <button type="button" onClick={() => attempt({})}>
            Replace it
          </button>
          <button type="button" onClick={() => attempt({ mode: "new" })}>
            Keep both
          </button>
        </span>
      )}
      {stage === "busy" ? (
        <span className="variables-progress" aria-hidden="true" />
      ) : (
        <IconButton isSmall icon="close" label={`Dismiss ${file.name}`} onClick={dismiss} />
      )}
    </li>
  );
}

/** The request that uploads a file. */
export interface Upload {
  readonly name: string;
  readonly contentType: string;
  readonly body: Blob;
  readonly delimiter?: "auto";
}

export type FileKind = "csv" | "json" | "records" | "text" | "bytes";

const KINDS: readonly (readonly [kind: FileKind, endings: RegExp, types: RegExp])[] = [
  ["csv", /^[ct]sv$/, /^text\/(csv|tab-separated-values)/],
  ["records", /^(ndjson|jsonl)$/, /^application\/(x-ndjson|jsonl)/],
  ["json", /^(geo)?json$/, /^application\/(json|.*\+json)/],
  ["text", /^(txt|md|log)$/, /^text\//],
];

/** Returns the kind of a file by its extension, or else by its media type. */
export function kindOfFile({ name, type }: Pick<File, "name" | "type">): FileKind {
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const byEnding = KINDS.find(([, endings]) => endings.test(ending));
  return (byEnding ?? KINDS.find(([, , types]) => types.test(type)))?.[0] ?? "bytes";
}

const MAX_NAME_CHARS = 64;

export function variableName(fileName: string): string {
  const base = fileName.replace(/(.)\.[^.]*$/, "$1").normalize("NFKD");
  const plain = base.replace(/\p{M}/gu, "").replace(/[^A-Za-z0-9_]+/g, "_");
  const name = plain.replace(/^_+|_+$/g, "").slice(0, MAX_NAME_CHARS - "file_".length);
  if (name === "") return "file";
  // The name `input` is reserved.
  return /^\d/.test(name) || name === "input" ? `file_${name}` : name;
}

/** The server's limit. */
const MAX_BYTES = 95 * 1024 * 1024;

/** Reads the file. Throws an error with a reason to show if it cannot be a value. */
export async function uploadOf(file: File, kind = kindOfFile(file)): Promise<Upload> {
  if (file.size > MAX_BYTES)
    throw new Error("It is larger than 95 MiB, which is the most a value may be.");
  // A folder that is dropped looks like a file. Sending it would fail as a lost connection does.
  await file
    .slice(0, 1)
    .arrayBuffer()
    .catch(() => {
      throw new Error("It cannot be read. Add the files of a folder in its place.");
    });
  const name = variableName(file.name);
  if (kind === "bytes") {
    return { name, contentType: file.type || "application/octet-stream", body: file };
  }
  const body = new Blob([decoded(await file.arrayBuffer())]);
  return { name, contentType: TYPES[kind], body, ...(kind === "csv" && { delimiter: "auto" }) };
}

const TYPES = {
  csv: "text/csv",
  json: "application/json",
  records: "application/x-ndjson",
  text: "text/plain",
} as const;

/** Encodings in which spreadsheets save a CSV where the system's language begins so. */
const OLD_ENCODINGS = [
  ["zh-TW", "big5"],
  ["zh", "gb18030"],
  ["ja", "shift_jis"],
  ["ko", "euc-kr"],
  ["ru", "windows-1251"],
  ["", "windows-1252"],
] as const;

/** Spreadsheets and PowerShell write UTF-16 with a byte order mark. Other text that is not UTF-8 is from an old one. */
export function decoded(bytes: ArrayBuffer, language = navigator.language): string {
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const [, old] = OLD_ENCODINGS.find(([start]) => language.startsWith(start)) ?? [];
    return new TextDecoder(old).decode(bytes);
  }
}

/** Detects what a text is from its beginning: an export of a conversation, or data. Undefined for any other text. */
export function kindOfText(head: string, isCut = false): "export" | FileKind | undefined {
  // A line that is cut off at the end of the head is ignored.
  const lines = head.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (isCut) lines.pop();
  const [first, second, ...rest] = lines.filter((line) => line.trim() !== "");
  const record = jsonIn(first);
  if (typeof record === "object" && record !== null) {
    if ("type" in record && record.type === "byref") return "export";
    return jsonIn(second) === undefined ? "json" : "records";
  }
  if (/^\s*[[{]/.test(head)) return "json";
  return delimiterIn([first, second, ...rest]) === undefined ? undefined : "csv";
}

/** Returns the delimiter that occurs equally often in the first lines. Quoted cells may contain it. */
export function delimiterIn(lines: readonly (string | undefined)[]): string | undefined {
  const [first = "", ...others] = lines.slice(0, 5);
  const count = (line = "", delimiter: string) =>
    line.replaceAll(/"(?:[^"]|"")*"/g, "").split(delimiter).length;
  return [",", ";", "\t", "|"].find((delimiter) => {
    const cells = count(first, delimiter);
    return cells > 1 && others.every((line) => count(line, delimiter) === cells);
  });
}
