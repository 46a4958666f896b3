import { compact, isObject, jsonIn } from "../../value/json.ts";
import { requireWellFormed } from "../../value/well-formed.ts";
import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { visibilityIn, visibilityText } from "../../store/labels.ts";
import {
  type FileContent,
  type FileInfo,
  filePathIn,
  type Files,
  type FileWrite,
  type StoredFile,
} from "../../tool/files.ts";
import type { Bindings } from "../app-env.ts";
import type { FilePage, FileSummary } from "./file-page.ts";
import type { StoredBytes } from "../variables/serve-value.ts";
import { pagesOf, R2Upload } from "./r2-blobs.ts";

/**
 * A conversation's files in the bucket, as tools and endpoints read and write them. A file's metadata has the labels of
 * its content. Paths throw `bad_path`.
 */
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

  /** Throws `bad_value` for half of a character. */
  async write(path: string, content: FileContent, write: FileWrite) {
    const { mediaType } = content;
    if ("text" in content) requireWellFormed(content.text, "A file");
    const body = "text" in content ? new TextEncoder().encode(content.text) : content.bytes;
    const { expected } = write;
    const written = { path, bytes: body.byteLength };
    if (this.#onWrite !== undefined) await this.requireRoom(path, written.bytes);
    const put = await this.#bucket.put(this.#keyOf(path), body, {
      httpMetadata: { contentType: mediaType },
      customMetadata: metadataOf(write),
      // In R2, only the wildcard expresses "does not exist".
      ...(expected === null && { onlyIf: { etagDoesNotMatch: "*" } }),
      ...(typeof expected === "string" && { onlyIf: { etagMatches: expected } }),
    });
    if (put === null) throw writeConflict(path);
    this.#onWrite?.(written);
    return written;
  }

  async info(path: string): Promise<FileInfo | undefined> {
    return (await this.find(path))?.info;
  }

  async read(path: string): Promise<StoredFile | undefined> {
    const found = await this.find(path);
    if (found === undefined) return undefined;
    const { info, bytes, open } = found;
    requireAtMost("maxJsonBytes", bytes, `file:${path} is too large to be read.`);
    return { ...info, text: textOf(path, await open.read(0, bytes)) };
  }

  async list(prefix: string): Promise<readonly string[]> {
    const advice = `Too many files begin with "${prefix}": name fewer.`;
    const paths: string[] = [];
    for await (const page of pagesOf(this.#bucket, `${this.#folder}${prefix}`)) {
      paths.push(...page.map(({ key }) => key.slice(this.#folder.length)));
      requireAtMost("maxFiles", paths.length, advice);
    }
    return paths;
  }

  /** Lists files in the order of their paths in UTF-8. */
  async page({ after, limit }: { after?: string | undefined; limit: number }): Promise<FilePage> {
    const found = await this.#bucket.list({
      prefix: this.#folder,
      limit,
      include: ["httpMetadata", "customMetadata"],
      ...(after === undefined ? {} : { startAfter: `${this.#folder}${after}` }),
    });
    const files = found.objects.map((object) => this.#summaryOf(object));
    const next = found.truncated ? files.at(-1)?.path : undefined;
    return { files, ...compact({ next }) };
  }

  /** A file that can be read. A read rejects with `conflict` if the file has changed. */
  async find(path: string): Promise<FoundFile | undefined> {
    const key = this.#keyOf(path);
    const head = await this.#bucket.head(key);
    if (head === null) return undefined;
    const read = async (from: number, to: number) => {
      if (from === to) return new Uint8Array();
      const range = { offset: from, length: to - from };
      const object = await this.#bucket.get(key, { range, onlyIf: { etagMatches: head.etag } });
      if (object !== null && "body" in object) return object.bytes();
      throw new ByrefError("conflict", `${path} changed while it was read; try again.`);
    };
    const open = { info: { bytes: head.size }, read, close: () => undefined };
    return { ...this.#summaryOf(head), info: infoOf(head), open };
  }

  /** Begins a file, by default of the caller's. It is visible when the upload is complete. */
  upload(path: string, { mediaType, ...write }: FileWrite & Pick<FileSummary, "mediaType">) {
    return new R2Upload(this.#bucket, this.#keyOf(path), {
      httpMetadata: { contentType: mediaType },
      customMetadata: metadataOf({ sources: ["caller"], ...write }),
    });
  }

  async delete(path: string): Promise<void> {
    await this.#bucket.delete(this.#keyOf(path));
  }

  /** Throws `limit_exceeded` if a file of this size does not fit beside the others. */
  async requireRoom(path: string, bytes: number): Promise<void> {
    const own = this.#keyOf(path);
    let [files, sum] = [1, bytes];
    for await (const page of pagesOf(this.#bucket, this.#folder)) {
      const others = page.filter(({ key }) => key !== own);
      files += others.length;
      for (const other of others) sum += other.size;
      requireAtMost("maxFiles", files, ADVICE);
      if (sum <= limits.maxFilesBytes) continue;
      // Without the sum: the sizes of sealed files are in it.
      const details = { limit: "maxFilesBytes", maximum: limits.maxFilesBytes };
      throw new ByrefError("limit_exceeded", `maxFilesBytes is exceeded. ${ADVICE}`, details);
    }
  }

  #summaryOf(object: R2Object): FileSummary {
    const { key, size, version, uploaded, httpMetadata } = object;
    return {
      path: key.slice(this.#folder.length),
      bytes: size,
      mediaType: httpMetadata?.contentType ?? "application/octet-stream",
      // R2's own etag is the same for the same bytes of another media type.
      etag: `"${version}"`,
      modified: uploaded.toISOString(),
      visibility: infoOf(object).labels.visibility,
    };
  }

  #keyOf(path: string): string {
    return `${this.#folder}${filePathIn(path)}`;
  }
}

interface FoundFile extends FileSummary {
  readonly info: FileInfo;
  readonly open: StoredBytes;
}

type OnWrite = (file: { readonly path: string; readonly bytes: number }) => void;

function writeConflict(path: string): ByrefError {
  return new ByrefError("conflict", `file:${path} was changed by a concurrent write.`);
}

function metadataOf(write: FileWrite): Record<string, string> {
  const { visibility = "model", sources, trusted, flags, addition } = write;
  return {
    visibility: visibilityText({ visibility, flags }),
    trusted: String(trusted ?? true),
    sources: JSON.stringify(sources ?? []),
    ...(addition === undefined ? {} : { addition: JSON.stringify(addition) }),
  };
}

/** A file without labels was written by another program, so it is untrusted. */
function infoOf({ etag, customMetadata = {} }: R2Object): FileInfo {
  const { visibility: guard = "model", trusted, sources = "", addition } = customMetadata;
  const { visibility, ...flags } = visibilityIn(guard);
  // An unknown visibility counts as secret.
  const isKnown = visibility === "model" || visibility === "sealed";
  const list = jsonIn(sources);
  const isList = Array.isArray(list) && list.every((source) => typeof source === "string");
  const added = jsonIn(addition ?? "");
  const { call, from } = isObject(added) ? added : {};
  return {
    labels: {
      visibility: isKnown ? visibility : "secret",
      ...flags,
      sources: isList ? list : ["bucket"],
      trusted: trusted === "true",
    },
    version: etag,
    ...(typeof call === "string" && typeof from === "number" && { addition: { call, from } }),
  };
}

function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new ByrefError("bad_value", `file:${path} is not text (UTF-8): it cannot be shown.`);
  }
}

/** The conversation's files; undefined without a bucket binding. */
export function filesIn(env: Cloudflare.Env, prefix: string, onWrite?: OnWrite) {
  const { BLOBS }: Partial<Bindings> = env;
  return BLOBS && new R2Files(BLOBS, prefix, onWrite);
}

const ADVICE = "Delete some of the conversation's files.";
