import type { VariableInfo } from "../../../../src/runtime.ts";
import type { CsvDelimiter, filePages, stores, metadata } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import { type Connection, parseJson, pathTo, withNetworkErrors } from "./connection.ts";

/** Selects variables of a conversation. */
export interface VariableQuery {
  /** Only the newest ones, up to this number. */
  readonly last?: number;
  /** Only variables with these names. */
  readonly names?: readonly string[];
  /** The `next` of an earlier page. */
  readonly after?: number;
  /** 1 to 1,000. */
  readonly limit?: number;
}

/** A page of variables' metadata. */
export interface VariablePage {
  readonly variables: readonly VariableInfo[];
  /** Requested names that do not exist. */
  readonly missing?: readonly string[];
  /** Set if there are more variables. */
  readonly next?: number;
}

/** Selects a part of a value. Default: the whole value. */
export interface ValuePart {
  /** The path after the name in a reference: `[0].id`. */
  readonly path?: string;
  /** Elements of an array, characters of a text, or bytes. */
  readonly offset?: number;
  /** Maximum number of them. */
  readonly limit?: number;
  /** An earlier version, if it is kept. */
  readonly version?: number;
}

/**
 * Guards against lost updates: the ETag of the value, from `open`, or for `patch` that of the metadata, from
 * `openInfo`. If the guard fails, the error's details have the current ETag.
 */
export interface Guards {
  readonly ifMatch?: string;
  /** `*`: write only if the variable does not exist. */
  readonly ifNoneMatch?: string;
}

/** How a value is saved. */
export interface PutOptions extends Guards {
  /** Default: `replace`. */
  readonly mode?: stores.WriteMode;
  /** Time to live in seconds. */
  readonly ttl?: number;
  /** Keeps the variable until it is deleted. */
  readonly pin?: boolean;
  /** Default: unchanged; `model` for a new variable. */
  readonly visibility?: metadata.Visibility;
  /** Shown to people and models; up to 500 characters. */
  readonly description?: string;
  /** Content type of bytes. Default: a Blob's own, else `application/octet-stream`. */
  readonly contentType?: string;
  /** How to read a CSV, `text/csv`: the character between its cells. */
  readonly delimiter?: CsvDelimiter;
  /** `off`: all cells of a CSV are texts. */
  readonly types?: "off";
}

/** Changes to a variable's metadata. Other fields, and the value, stay the same. */
export interface VariableChanges {
  /** Time to live in seconds; null removes it. */
  readonly ttl?: number | null;
  readonly pinned?: boolean;
  readonly description?: string;
}

export type ClientVariables = ReturnType<typeof variablesOf>;

export function variablesOf({ ask, call }: Connection) {
  const at = pathTo.bind(undefined, "variables");
  /** Returns the value's response, with its headers: for streaming, for its ETag, or for a `range`. */
  const open = (
    name: string,
    part: ValuePart = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> => call("GET", at(name), { query: { ...part }, headers });
  return {
    open,
    /** Returns the variables that `last` or `names` selects, or else a page. */
    list: ({ names, ...query }: VariableQuery = {}): Promise<VariablePage> =>
      ask("GET", at(), { query: { ...query, names: names?.join() } }),
    /** Returns the value: bytes as a `Uint8Array`, anything else as JSON. The caller vouches for its type. */
    get: async <Value = Json | Uint8Array>(name: string, part?: ValuePart): Promise<Value> =>
      (await valueIn(await open(name, part))) as Value,
    info: (name: string): Promise<VariableInfo> => ask("GET", at(name, "info")),
    /** Returns the metadata's response, whose ETag guards a `patch`. */
    openInfo: (name: string): Promise<Response> => call("GET", at(name, "info")),
    /** Sends bytes unchanged and any other value as JSON. */
    put(
      name: string,
      value: Json | Uint8Array | Blob,
      { contentType, ifMatch, ifNoneMatch, ...query }: PutOptions = {},
    ): Promise<VariableInfo> {
      const guards = headersOf({ ifMatch, ifNoneMatch });
      const sent =
        value instanceof Blob || value instanceof Uint8Array
          ? bytesIn(value, contentType, guards)
          : { json: value, headers: guards };
      return ask("PUT", at(name), { query, ...sent });
    },
    patch: (name: string, json: VariableChanges, guards?: Guards): Promise<VariableInfo> =>
      ask("PATCH", at(name), { json, headers: headersOf(guards) }),
    delete: async (name: string, guards?: Guards): Promise<void> =>
      void (await call("DELETE", at(name), { headers: headersOf(guards) })),
    /** Deletes all variables but the newest `keepLast`; `deleted` has the names. */
    reset: (keepLast = 0): Promise<{ readonly deleted: readonly string[] }> =>
      ask("DELETE", at(), { query: { keepLast } }),
  };
}

/** Reads the value from a response of `open`. Numbers that a double would change are texts. */
export function valueIn(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  return withNetworkErrors(null, async () => {
    if (type.startsWith("application/json")) return parseJson(await response.text());
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (!type.startsWith("text/plain")) return bytes;
    // `response.text()` leaves out a byte order mark.
    return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  });
}

/** A body, with the headers that it needs. */
export function bytesIn(
  body: string | Blob | Uint8Array,
  contentType: string | undefined,
  guards: object = {},
) {
  // `fetch` sets that of a text, and of a Blob that has one.
  const isTyped = typeof body === "string" || ("type" in body && body.type);
  const type = contentType ?? (isTyped ? undefined : "application/octet-stream");
  // The DOM's types exclude bytes in shared memory; browsers refuse only those.
  return {
    body: body as NonNullable<RequestInit["body"]>,
    headers: { ...guards, "content-type": type },
  };
}

function headersOf({ ifMatch, ifNoneMatch }: { [N in keyof Guards]: string | undefined } = {}) {
  return { "if-match": ifMatch, "if-none-match": ifNoneMatch };
}

/** How a file is saved. */
export interface FilePutOptions extends Guards {
  /** Default: that of a Blob, `text/plain` for a text, else `application/octet-stream`. */
  readonly contentType?: string;
  /** Default: unchanged; `model` for a new file. */
  readonly visibility?: metadata.Visibility;
}

/** The files of a conversation, by their paths: `reports/may.csv`. */
export type ClientFiles = ReturnType<typeof filesOf>;

export function filesOf({ ask, call }: Connection) {
  const at = (path: string) => pathTo("files", ...path.split("/"));
  return {
    /** Returns a page, in the order of the paths. `after`: the `next` of an earlier page, or a path. */
    list: (
      query: { readonly after?: string; readonly limit?: number } = {},
    ): Promise<filePages.FilePage> => ask("GET", pathTo("files"), { query }),
    /** Returns the file's response, with its headers: `text()`, a stream, its ETag, or a `range`. */
    open: (path: string, headers?: Readonly<Record<string, string>>): Promise<Response> =>
      call("GET", at(path), headers && { headers }),
    /** Creates or replaces a file. The guards are ETags, as in `list`. */
    put(
      path: string,
      body: string | Blob | Uint8Array<ArrayBuffer>,
      { contentType, visibility, ...guards }: FilePutOptions = {},
    ): Promise<filePages.FileSummary> {
      const sent = bytesIn(body, contentType, headersOf(guards));
      return ask("PUT", at(path), { query: { visibility }, ...sent });
    },
    delete: async (path: string, guards?: Guards): Promise<void> =>
      void (await call("DELETE", at(path), { headers: headersOf(guards) })),
  };
}
