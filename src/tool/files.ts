import type { Awaitable, Write } from "../store/variable-store.ts";
import { guardOf } from "../store/visibility.ts";
import type { FileContent } from "./variables/file-content.ts";

/** Who may see what is in a file, and where it comes from. */
export type FileLabels = Required<Pick<Write, "visibility" | "sources" | "trusted">>;

/** Which call wrote what stands from this character on: made again, it takes the place of that. */
interface FileAddition {
  readonly call: string;
  readonly from: number;
}

export interface FileInfo {
  readonly labels: FileLabels;
  /** Another one after each write. */
  readonly version: string;
  readonly addition?: FileAddition;
}

export interface StoredFile extends FileInfo {
  readonly text: string;
}

export interface FileWrite extends Partial<FileLabels> {
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

/** The labels of what is made of several things. */
export function joinedLabels(labels: readonly FileLabels[]): FileLabels {
  return {
    visibility: guardOf(labels.map(({ visibility }) => visibility)),
    sources: [...new Set(labels.flatMap(({ sources }) => sources))],
    trusted: labels.every(({ trusted }) => trusted),
  };
}
