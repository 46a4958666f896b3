import { ClientError, type ClientErrorCode } from "./client-error.ts";

/** How a client reaches its server. */
export interface ClientOptions {
  /** The key, or a function that returns it, called for each request. Default: no key is sent. */
  readonly auth?: string | (() => string | Promise<string>);
  /** Default: the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Returns the milliseconds to wait before a stream is requested again after that many failures in a row;
   * undefined stops the retries. Default: twelve retries, from about 500 ms to 8 s and random by half of that, which
   * outlasts a deploy, and spreads clients that lost a server together.
   */
  readonly retryMs?: (failures: number) => number | undefined;
  /** A stream without data for this long counts as broken. Default: a minute, the time of four keep-alive comments. */
  readonly silenceMs?: number;
}

/** Undefined fields are left out. */
type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Request {
  readonly query?: Fields;
  readonly headers?: Fields;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: NonNullable<RequestInit["body"]>;
  readonly signal?: AbortSignal | undefined;
}

type Ask<Answer> = (method: string, at: string, request?: Request) => Promise<Answer>;

/** Requests to the URLs below one base address. */
export interface Connection {
  readonly options: ClientOptions;
  /** Throws a `ClientError` unless the request succeeds. */
  readonly call: Ask<Response>;
  /** Returns the response's body. The caller vouches for its type, which the server's interface defines. */
  readonly ask: <Body>(...request: Parameters<Ask<unknown>>) => Promise<Body>;
}

export function connect(root: string, options: ClientOptions): Connection {
  const send = options.fetch ?? ((url, init) => fetch(url, init));
  const call: Ask<Response> = async (method, at, request = {}) => {
    const { query = {}, headers, json, body = null, signal = null } = request;
    const { auth } = options;
    const key = typeof auth === "function" ? await auth() : auth;
    const text: string | undefined = JSON.stringify(json, requireFinite);
    const authorization = key === undefined ? undefined : `Bearer ${key}`;
    const url = root + at;
    // `fetch` would leave out such a segment and the one before it: the request would be for something else.
    if (/\/\.\.?(\/|$)/.test(url)) throw new ClientError("bad_path", url);
    const search = String(new URLSearchParams(definedFields(query)));
    const response = await withNetworkErrors(signal, () =>
      send(url + (search && `?${search}`), {
        method,
        headers: definedFields({
          authorization,
          "content-type": text && "application/json",
          ...headers,
        }),
        body: text ?? body,
        signal,
      }),
    );
    // 304 Not Modified is a valid response, too.
    if (response.ok || response.status === 304) return response;
    throw errorFor(response.status, await response.text().catch(String));
  };
  const ask = async <Body>(...request: Parameters<typeof call>) => {
    const response = await call(...request);
    const text = await withNetworkErrors(request[2]?.signal, () => response.text());
    const body = parsed(text);
    if (body !== undefined) return body as Body;
    throw errorFor(response.status, text);
  };
  return { options, call, ask };
}

/** JSON would have null for another number. */
function requireFinite(_: string, value: unknown): unknown {
  if (typeof value !== "number" || isFinite(value)) return value;
  throw new ClientError("bad_value", String(value));
}

/** A path of these segments below a folder. */
export function pathTo(folder: string, ...segments: readonly string[]): string {
  return ["", folder, ...segments.map(encodeURIComponent)].join("/");
}

/** Converts network failures, which each platform words differently, to a `ClientError`. */
export async function withNetworkErrors<Result>(
  signal: AbortSignal | null | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ClientError("unreachable", String(cause), { cause });
  }
}

/** Makes an error of a response's body: a problem document, or any other text. */
function errorFor(status: number, text: string): ClientError {
  const details = { ...(parsed(text) as Readonly<Record<string, unknown>> | undefined) };
  const { code, title = text.slice(0, 200), detail = title } = details;
  // 502 and 504 are a proxy's, unless they have a code, which is a text.
  const passing = status > 501 ? "unavailable" : "bad_answer";
  // A newer server may send codes that are not in the type.
  const sent = typeof code === "string" && status !== 503 ? (code as ClientErrorCode) : passing;
  return new ClientError(sent, String(detail), { status, details });
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Numbers that a double would change are texts. */
export function parseJson(text: string): unknown {
  return JSON.parse(text, LONG.test(text) ? keepDigits : undefined);
}

/** Older browsers do not say how a number is written. */
function keepDigits(_: string, value: unknown, { source = String(value) } = {}): unknown {
  if (typeof value !== "number" || !LONG.test(source)) return value;
  const [kept, written] = [digitsOf(String(value)), digitsOf(source)];
  return written.startsWith(kept) && !/[1-9]/.test(written.slice(kept.length)) ? value : source;
}

/** A number that a double may not give back, among others. */
const LONG = /[\d.]{16}|\de\W?\d{3}/i;

/** The digits of a number, without its size and the zeros before them. */
function digitsOf(text: string): string {
  return text.replace(/^[-0.]+|\.|e.*/gi, "");
}

function definedFields(fields: Fields): Record<string, string> {
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent.map(([name, value]) => [name, String(value)]));
}
