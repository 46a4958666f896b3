import { ByrefError } from "../../src/errors.ts";
import {
  type FileInfo,
  filePathIn,
  type Files,
  type FileWrite,
  type StoredFile,
} from "../../src/tool/files.ts";

/** A conversation's files in memory, for tests in plain Node. */
export class MemoryFiles implements Files {
  readonly stored = new Map<string, StoredFile & { readonly mediaType: string }>();
  /** Called before each write, so that a test can write concurrently. */
  onWrite: (path: string) => void = () => undefined;
  #writes = 0;

  async write(
    path: string,
    { mediaType, ...content }: Parameters<Files["write"]>[1],
    { visibility, sources, trusted, flags, expected, addition }: FileWrite,
  ) {
    this.onWrite(path);
    const version = this.stored.get(filePathIn(path))?.version ?? null;
    if (expected !== undefined && expected !== version) throw new ByrefError("conflict", path);
    const text = "text" in content ? content.text : new TextDecoder().decode(content.bytes);
    const labels = {
      visibility: visibility ?? "model",
      sources: sources ?? [],
      trusted: trusted ?? true,
      ...(flags === undefined ? {} : { flags }),
    };
    this.stored.set(path, {
      text,
      mediaType,
      labels,
      version: `v${++this.#writes}`,
      ...(addition === undefined ? {} : { addition }),
    });
    return { path, bytes: text.length };
  }

  async info(path: string): Promise<FileInfo | undefined> {
    return this.stored.get(path);
  }

  async read(path: string): Promise<StoredFile | undefined> {
    return this.stored.get(path);
  }

  async list(prefix: string): Promise<readonly string[]> {
    return [...this.stored.keys()].filter((path) => path.startsWith(prefix));
  }

  put(path: string, text: string, labels: Partial<StoredFile["labels"]> = {}): void {
    this.write(path, { text, mediaType: "text/plain" }, labels);
  }

  textOf(path: string): string | undefined {
    return this.stored.get(path)?.text;
  }
}
