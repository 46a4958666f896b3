import type { FilePage, FileSummary, Visibility } from "../../../../src/internal.ts";
import type { Connection } from "./connection.ts";
import { type Guards, headersOf } from "./variables.ts";

/** How a file is saved. */
export interface FilePutOptions extends Guards {
  /** Default: that of a Blob, `text/plain` for a text, else `application/octet-stream`. */
  readonly contentType?: string;
  /** Default: unchanged; `model` for a new file. */
  readonly visibility?: Visibility;
}

/** The files of a conversation, by their paths: `reports/may.csv`. */
export class ClientFiles {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Returns a page, in the order of the paths. `after`: the `next` of an earlier page, or a path. */
  list(query: { readonly after?: string; readonly limit?: number } = {}): Promise<FilePage> {
    return this.#connection.ask("GET", "/files", { query });
  }

  /** Returns the file's response, with its headers: `text()`, a stream, its ETag, or a `range`. */
  open(path: string, headers?: Readonly<Record<string, string>>): Promise<Response> {
    return this.#connection.call("GET", pathOf(path), headers && { headers });
  }

  /** Creates or replaces a file. The guards are ETags, as in `list`. */
  put(
    path: string,
    body: string | Blob | Uint8Array<ArrayBuffer>,
    { contentType, visibility, ...guards }: FilePutOptions = {},
  ): Promise<FileSummary> {
    // `fetch` sets that of a text, and of a Blob that has one.
    const type = contentType ?? (isUntyped(body) ? "application/octet-stream" : undefined);
    const headers = { "content-type": type, ...headersOf(guards) };
    return this.#connection.ask("PUT", pathOf(path), { query: { visibility }, headers, body });
  }

  async delete(path: string, guards?: Guards): Promise<void> {
    await this.#connection.call("DELETE", pathOf(path), { headers: headersOf(guards) });
  }
}

function isUntyped(body: string | Blob | Uint8Array): boolean {
  return typeof body !== "string" && !("type" in body && body.type);
}

function pathOf(path: string): string {
  return `/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}
