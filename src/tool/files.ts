import type { ValueLabels } from "../store/value-labels.ts";
import type { Awaitable } from "../store/when-ready.ts";
import type { FileContent } from "./variables/file-content.ts";

/** Which call wrote what stands from this character on: made again, it takes the place of that. */
interface FileAddition {
  readonly call: string;
  readonly from: number;
}

export interface FileInfo {
  readonly labels: ValueLabels;
  /** Another one after each write. */
  readonly version: string;
  readonly addition?: FileAddition;
}

export interface StoredFile extends FileInfo {
  readonly text: string;
}

export interface FileWrite extends Partial<ValueLabels> {
  /** Only if the file is of this version; null: only if there is none. Otherwise `conflict`. */
  readonly expected?: string | null;
  readonly addition?: FileAddition;
}

/** Where files go, with the guards of what is in them. Throws `bad_path`. */
export interface FileWriter {
  write(
    path: string,
    content: FileContent,
    write: FileWrite,
  ): Awaitable<{ readonly path: string; readonly bytes: number }>;
}

/** The files of a conversation, by their paths in its folder. */
export interface Files extends FileWriter {
  info(path: string): Promise<FileInfo | undefined>;
  /** Throws `limit_exceeded` for more than `maxJsonBytes`, `bad_value` for what is no text. */
  read(path: string): Promise<StoredFile | undefined>;
  /** The paths that begin with the prefix, in any order. Throws `limit_exceeded`. */
  list(prefix: string): Promise<readonly string[]>;
}
