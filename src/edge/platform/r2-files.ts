import { compact, isObject, jsonIn } from "../../value/json.ts";
import { requireWellFormed } from "../../value/well-formed.ts";
import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { type ValueLabels, visibilityIn, visibilityText } from "../../store/labels.ts";
import {
  type FileContent,
  type FileInfo,
  filePathIn,
  type Files,
  type FileWrite,
  type StoredFile,
} from "../../tool/files.ts";
import type { Bindings } from "../app-env.ts";
import { keysIn } from "./r2-blobs.ts";

/** A conversation's files in the bucket. A file's metadata has the labels of its content. */
export class R2Files implements Files {
  readonly #bucket: R2Bucket;
  readonly #folder: string;
  readonly #onWrite: OnWrite | undefined;

  /**
   * `prefix`: the start of all keys of the conversation. With `onWrite`, which is called for each file that was
   * written, the limits of a conversation's files hold.
   */
  constructor(bucket: R2Bucket, prefix: string, onWrite?: OnWrite) {
    this.#bucket = bucket;
    this.#folder = `${prefix}files/`;
    this.#onWrite = onWrite;
  }

  async write(path: string, content: FileContent, write: FileWrite) {
    if (this.#onWrite === undefined) return this.#write(path, content, write);
    const file = { key: this.#keyOf(path), bytes: bytesOf(content).byteLength };
    await requireRoom(this.#bucket, this.#folder, file);
    const written = await this.#write(path, content, write);
    this.#onWrite(written);
    return written;
  }

  async #write(path: string, content: FileContent, write: FileWrite): Promise<WrittenFile> {
    const { mediaType } = content;
    const body = bytesOf(content);
    const { expected } = write;
    const put = await this.#bucket.put(this.#keyOf(path), body, {
      httpMetadata: { contentType: mediaType },
      customMetadata: metadataOf(write),
      ...(expected === undefined ? {} : { onlyIf: conditionFor(expected) }),
    });
    if (put !== null) return { path, bytes: body.byteLength };
    throw writeConflict(path);
  }

  async info(path: string): Promise<FileInfo | undefined> {
    const object = await this.#bucket.head(this.#keyOf(path));
    return object === null ? undefined : infoOf(object);
  }

  async read(path: string): Promise<StoredFile | undefined> {
    const key = this.#keyOf(path);
    const head = await this.#bucket.head(key);
    if (head === null) return undefined;
    const advice = `file:${path} is too large to be read.`;
    requireAtMost("maxJsonBytes", head.size, advice);
    const object = await this.#bucket.get(key, { onlyIf: { etagMatches: head.etag } });
    if (object === null) return undefined;
    if (!("body" in object)) throw writeConflict(path);
    return { ...infoOf(object), text: textOf(path, await object.arrayBuffer()) };
  }

  async list(prefix: string): Promise<readonly string[]> {
    const advice = `Too many files begin with "${prefix}": name fewer.`;
    const check = (count: number) => requireAtMost("maxFiles", count, advice);
    const keys = await keysIn(this.#bucket, `${this.#folder}${prefix}`, check);
    return keys.map((key) => key.slice(this.#folder.length));
  }

  #keyOf(path: string): string {
    return `${this.#folder}${filePathIn(path)}`;
  }
}

type OnWrite = (file: WrittenFile) => void;

interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
}

/** Throws `bad_value` for half of a character. */
function bytesOf(content: FileContent): Uint8Array {
  if (!("text" in content)) return content.bytes;
  requireWellFormed(content.text, "A file");
  return new TextEncoder().encode(content.text);
}

function writeConflict(path: string): ByrefError {
  return new ByrefError("conflict", `file:${path} was changed by a concurrent write.`);
}

/** In R2, only the wildcard expresses "does not exist". */
function conditionFor(expected: string | null): R2Conditional {
  return expected === null ? { etagDoesNotMatch: "*" } : { etagMatches: expected };
}

export function metadataOf({
  visibility = "model",
  sources,
  trusted,
  flags,
  addition,
}: FileWrite): Record<string, string> {
  return {
    visibility: visibilityText({ visibility, flags }),
    trusted: String(trusted ?? true),
    sources: JSON.stringify(sources ?? []),
    ...(addition === undefined ? {} : { addition: JSON.stringify(addition) }),
  };
}

/** A file without labels was written by another program, so it is untrusted. */
export function infoOf({ etag, customMetadata = {} }: R2Object): FileInfo {
  const { visibility, trusted, sources, addition } = customMetadata;
  const added = additionIn(addition);
  return {
    labels: {
      ...guardIn(visibility),
      sources: sourcesIn(sources),
      trusted: trusted === "true",
    },
    version: etag,
    ...compact({ addition: added }),
  };
}

/** An unknown visibility counts as secret. */
function guardIn(text = "model"): Pick<ValueLabels, "visibility" | "flags"> {
  const { visibility, ...flags } = visibilityIn(text);
  const isKnown = visibility === "model" || visibility === "sealed";
  return { visibility: isKnown ? visibility : "secret", ...flags };
}

function sourcesIn(text: string | undefined): readonly string[] {
  const sources = jsonIn(text ?? "");
  const isList = Array.isArray(sources) && sources.every((source) => typeof source === "string");
  return isList ? sources : ["bucket"];
}

function additionIn(text: string | undefined): FileInfo["addition"] {
  const addition = jsonIn(text ?? "");
  if (!isObject(addition)) return undefined;
  const { call, from } = addition;
  return typeof call === "string" && typeof from === "number" ? { call, from } : undefined;
}

function textOf(path: string, bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new ByrefError("bad_value", `file:${path} is not text (UTF-8): it cannot be shown.`);
  }
}

/** The conversation's files; undefined without a bucket binding. */
export function filesIn(env: Cloudflare.Env, prefix: string, onWrite?: OnWrite): Files | undefined {
  const { BLOBS }: Partial<Bindings> = env;
  return BLOBS && new R2Files(BLOBS, prefix, onWrite);
}

/** Throws `limit_exceeded` if a file does not fit beside the others in its folder. */
export async function requireRoom(
  bucket: R2Bucket,
  folder: string,
  { key, bytes }: { readonly key: string; readonly bytes: number },
): Promise<void> {
  let [files, sum] = [1, bytes];
  let cursor: string | undefined;
  do {
    const page = await bucket.list({
      prefix: folder,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const others = page.objects.filter((object) => object.key !== key);
    files += others.length;
    for (const other of others) sum += other.size;
    requireAtMost("maxFiles", files, ADVICE);
    // Without the sum: the sizes of sealed files are in it.
    if (sum > limits.maxFilesBytes) {
      const maximum = limits.maxFilesBytes;
      throw new ByrefError("limit_exceeded", `maxFilesBytes is exceeded. ${ADVICE}`, {
        limit: "maxFilesBytes",
        maximum,
      });
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

const ADVICE = "Delete some of the conversation's files.";
