import { ClientError, type ClientErrorCode } from "./client-error.ts";

/** How a client reaches its server. */
export interface ClientOptions {
  /** The key, or how to get one; asked for each request. Default: none is sent. */
  readonly auth?: string | (() => string | Promise<string>);
  /** Default: the platform's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Milliseconds to wait after so many failures in a row before a stream is asked for again; undefined
   * gives up. Default: eight times, from 250 ms to 4 s, which outlasts a restart.
   */
  readonly retryMs?: (failures: number) => number | undefined;
  /** A stream that says nothing for so long is broken. Default: a minute, four signs of life. */
  readonly silenceMs?: number;
}

/** What is undefined is left out. */
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

/** The way to what lies below one address. */
export interface Connection {
  readonly options: ClientOptions;
  /** Throws a `ClientError` for whatever is no success. */
  readonly call: Ask<Response>;
  /** The answer's body. The caller vouches for its type: it is as the server's interface says. */
  readonly ask: <Body>(...asked: Parameters<Ask<unknown>>) => Promise<Body>;
}

export function connect(root: string, options: ClientOptions): Connection {
  const send = options.fetch ?? ((url, init) => fetch(url, init));
  const call: Ask<Response> = async (method, at, request = {}) => {
    const { query = {}, headers, json, body = null, signal = null } = request;
    const { auth } = options;
    const key = typeof auth === "function" ? await auth() : auth;
    const type = json === undefined ? undefined : "application/json";
    const authorization = key === undefined ? undefined : `Bearer ${key}`;
    const search = String(new URLSearchParams(given(query)));
    const response = await reached(signal, () =>
      send(root + at + (search && `?${search}`), {
        method,
        headers: given({ authorization, "content-type": type, ...headers }),
        body: json === undefined ? body : JSON.stringify(json),
        signal,
      }),
    );
    // Not modified is an answer, too.
    if (response.ok || response.status === 304) return response;
    throw errorFor(response.status, await response.text().catch(String));
  };
  const ask = async <Body>(...asked: Parameters<typeof call>) => {
    const response = await call(...asked);
    const text = await reached(asked[2]?.signal, () => response.text());
    const body = parsed(text);
    if (body !== undefined) return body as Body;
    throw errorFor(response.status, text);
  };
  return { options, call, ask };
}

/** A failure of the network, which each platform words in its own way, is one of ours. */
export async function reached<Result>(
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

/** What the answer says has gone wrong: a problem document, or whatever it is. */
function errorFor(status: number, text: string): ClientError {
  const details = { ...(parsed(text) as Readonly<Record<string, unknown>> | undefined) };
  const { code = "bad_answer", title = text.slice(0, MAX_SAID_CHARS), detail = title } = details;
  const known = status === 503 ? "unavailable" : code;
  // A newer server may have more of them.
  return new ClientError(known as ClientErrorCode, String(detail), { status, details });
}

const MAX_SAID_CHARS = 200;

/** Undefined if it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function given(fields: Fields): Record<string, string> {
  const known: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) known[name] = String(value);
  }
  return known;
}
