import type { VariableInfo, Visibility } from "../store/variable.ts";
import type { WriteMode } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";
import { type Connection, reached } from "./connection.ts";

/** Which variables of a conversation. */
export interface VariableQuery {
  /** Only the newest so many. */
  readonly last?: number;
  /** Only those. */
  readonly names?: readonly string[];
  /** As an earlier page gave it in `next`. */
  readonly after?: number;
  /** 1 to 1,000. */
  readonly limit?: number;
}

/** Metadata of some variables. */
export interface VariablePage {
  readonly variables: readonly VariableInfo[];
  /** The requested names that no variable has. */
  readonly missing?: readonly string[];
  /** There are more. */
  readonly next?: number;
}

/** Which part of a value. Default: all of it. */
export interface ValuePart {
  /** What follows the name in a reference: `[0].id`. */
  readonly path?: string;
  /** Elements of an array, characters of a text, bytes of bytes. */
  readonly offset?: number;
  /** So many of them. */
  readonly limit?: number;
}

/**
 * Guards against lost updates: the ETag of the value, from `open`, or for `patch` that of the metadata, from
 * `openInfo`. If the guard fails, the error's details have the current ETag.
 */
export interface Guards {
  readonly ifMatch?: string;
  /** `*`: only if there is none yet. */
  readonly ifNoneMatch?: string;
}

/** How a value is kept. */
export interface PutOptions extends Guards {
  /** Default: `replace`. */
  readonly mode?: WriteMode;
  /** Seconds. */
  readonly ttl?: number;
  /** Kept until somebody deletes it. */
  readonly pin?: boolean;
  /** Default: as it was, `model` for a new one. */
  readonly visibility?: Visibility;
  /** For people and models; up to 500 characters. */
  readonly description?: string;
  /** Of bytes. Default: a Blob's own, else `application/octet-stream`. */
  readonly contentType?: string;
}

/** What is changed of a variable; the rest, and its value, stay. */
export interface VariableChanges {
  /** Seconds; null: it stays. */
  readonly ttl?: number | null;
  readonly pinned?: boolean;
  readonly description?: string;
}

/** The variables of a conversation. */
export class ClientVariables {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Those that `last` or `names` chooses; else a page. */
  list({ names, ...query }: VariableQuery = {}): Promise<VariablePage> {
    return this.#connection.ask("GET", "/variables", { query: { ...query, names: names?.join() } });
  }

  /** The value: bytes as a `Uint8Array`, all else as JSON has it. The caller vouches for its type. */
  async get<Value = Json | Uint8Array>(name: string, part: ValuePart = {}): Promise<Value> {
    const response = await this.open(name, part);
    const type = response.headers.get("content-type") ?? "";
    const value = await reached(null, async () => {
      if (type.startsWith("application/json")) return response.json();
      if (type.startsWith("text/plain")) return response.text();
      return new Uint8Array(await response.arrayBuffer());
    });
    return value as Value;
  }

  /** The value as it comes, with its headers: to be streamed, for its ETag, a `range` of it. */
  open(
    name: string,
    part: ValuePart = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.#connection.call("GET", pathOf(name), { query: { ...part }, headers });
  }

  info(name: string): Promise<VariableInfo> {
    return this.#connection.ask("GET", `${pathOf(name)}/info`);
  }

  /** The metadata with their headers: the ETag for a guarded `patch`. */
  openInfo(name: string): Promise<Response> {
    return this.#connection.call("GET", `${pathOf(name)}/info`);
  }

  /** Bytes as they are, all else as JSON. */
  put(
    name: string,
    value: Json | Uint8Array | Blob,
    { contentType, ifMatch, ifNoneMatch, ...query }: PutOptions = {},
  ): Promise<VariableInfo> {
    const own = value instanceof Blob ? value.type : "";
    const isBytes = value instanceof Blob || value instanceof Uint8Array;
    const type = isBytes ? (contentType ?? (own || "application/octet-stream")) : JSON_TYPE;
    const headers = { "content-type": type, "if-match": ifMatch, "if-none-match": ifNoneMatch };
    // DOM's own types do not take bytes that threads may share; browsers refuse only those that are.
    const bytes = value as NonNullable<RequestInit["body"]>;
    const body = isBytes ? bytes : JSON.stringify(value);
    return this.#connection.ask("PUT", pathOf(name), { query, headers, body });
  }

  patch(name: string, json: VariableChanges, guards?: Guards): Promise<VariableInfo> {
    return this.#connection.ask("PATCH", pathOf(name), { json, headers: headersOf(guards) });
  }

  async delete(name: string, guards?: Guards): Promise<void> {
    await this.#connection.call("DELETE", pathOf(name), { headers: headersOf(guards) });
  }

  /** Deletes all but the newest so many; `deleted` has the names. */
  reset(keepLast = 0): Promise<{ readonly deleted: readonly string[] }> {
    return this.#connection.ask("DELETE", "/variables", { query: { keepLast } });
  }
}

const JSON_TYPE = "application/json";

function pathOf(name: string): string {
  return `/variables/${encodeURIComponent(name)}`;
}

function headersOf({ ifMatch, ifNoneMatch }: Guards = {}) {
  return { "if-match": ifMatch, "if-none-match": ifNoneMatch };
}
