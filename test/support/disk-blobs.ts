import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type Blobs,
  type BlobUpload,
  type ByteRange,
  unreadable,
  uploadIsOver,
} from "../../src/store/bytes/blobs.ts";
import { messageOf } from "../../src/errors.ts";

/** A file's name has at most 255 bytes. */
const NAME_CHARS = 200;

/**
 * Stores objects as files in a folder, and none of them in memory, so another process can read them. If a process
 * ends during an upload, the unfinished file stays in `unfinished`.
 */
export class DiskBlobs implements Blobs {
  readonly #objects: string;
  readonly #unfinished: string;
  #uploads = 0;

  constructor(folder: string) {
    this.#objects = join(folder, "objects");
    this.#unfinished = join(folder, "unfinished");
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const upload = await this.upload(key);
    await upload.write(bytes);
    await upload.complete();
  }

  async upload(key: string): Promise<BlobUpload> {
    await mkdir(this.#unfinished, { recursive: true });
    const path = join(this.#unfinished, `${process.pid}-${this.#uploads++}`);
    const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY);
    return new DiskUpload({ key, file, path, target: this.#pathOf(key) });
  }

  async read(key: string, from: number, to: number): Promise<Uint8Array> {
    if (from === to) return new Uint8Array();
    const range = { from, to };
    return this.#bytesIn(key, range).catch((error: unknown) => {
      throw unreadable(key, range, messageOf(error));
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) await rm(this.#pathOf(key), { force: true });
  }

  async list(prefix: string): Promise<readonly string[]> {
    await mkdir(this.#objects, { recursive: true });
    const entries = await readdir(this.#objects, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => keyOf(join(entry.parentPath, entry.name).slice(this.#objects.length + 1)))
      .filter((key) => key.startsWith(prefix));
  }

  async #bytesIn(key: string, { from, to }: ByteRange): Promise<Uint8Array> {
    if (from < 0 || from > to) throw new RangeError("It is no range.");
    await using file = await open(this.#pathOf(key));
    const { size } = await file.stat();
    if (to > size) throw new RangeError(`It has ${size} bytes.`);
    const bytes = new Uint8Array(to - from);
    for (let filled = 0; filled < bytes.length;) {
      const { bytesRead } = await file.read(bytes, { offset: filled, position: from + filled });
      if (bytesRead === 0) throw new RangeError("It has become shorter.");
      filled += bytesRead;
    }
    return bytes;
  }

  #pathOf(key: string): string {
    return join(this.#objects, pathOf(key));
  }
}

interface Unfinished {
  readonly key: string;
  readonly file: FileHandle;
  readonly path: string;
  readonly target: string;
}

class DiskUpload implements BlobUpload {
  readonly #at: Unfinished;
  #isOver = false;

  constructor(at: Unfinished) {
    this.#at = at;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#requireOpen();
    try {
      await this.#at.file.writeFile(bytes);
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  async complete(): Promise<void> {
    this.#requireOpen();
    this.#isOver = true;
    const { file, path, target } = this.#at;
    await file.close();
    await mkdir(join(target, ".."), { recursive: true });
    await rename(path, target);
  }

  async abort(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#at.file.close().catch(() => undefined);
    await rm(this.#at.path, { force: true }).catch(() => undefined);
  }

  #requireOpen(): void {
    if (this.#isOver) throw uploadIsOver(this.#at.key);
  }
}

/** Folders end in `+`, so that no object's name can be the path of another one. */
function pathOf(key: string): string {
  const names = `k${encodeURIComponent(key)}`;
  return Array.from({ length: Math.ceil(names.length / NAME_CHARS) }, (_, part) =>
    names.slice(part * NAME_CHARS, (part + 1) * NAME_CHARS),
  ).join("+/");
}

function keyOf(path: string): string {
  return decodeURIComponent(path.replaceAll("+/", "").slice(1));
}
