import { ByrefError, limitExceeded } from "../errors.ts";
import * as limits from "../limits.ts";
import { requirePublic } from "./public-address.ts";

/** What may be fetched, of what size, in what time. */
export interface PublicFetchOptions {
  /** Beside 80 and 443. */
  readonly ports?: readonly number[];
  /** Of the answer's body. Default: `maxFetchedBytes`. */
  readonly maxBytes?: number;
  /** From the call to the last byte, redirects included. Default: `fetchMs`. */
  readonly timeMs?: number;
  /** What asks the network. Default: the global one. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Who asks is told to nobody but whom the caller has named. */
const TOLD_TO_OTHERS = new Set(["accept", "accept-language", "content-type", "user-agent"]);

/**
 * `fetch` for tools that get a URL from a model: a public server's, by http or https, on port 80 or 443. Each
 * redirect is looked at the same way; headers that could be keys do not follow to another origin. Rejects
 * with `address_not_allowed`, `limit_exceeded` (too many redirects, or bytes) or `tool_timeout`; reading the
 * body, with the latter two.
 *
 * What it does not see is where a name leads: a name that resolves to a private address is reached, now or at
 * the second look (DNS rebinding). A Worker on Cloudflare reaches no private network by `fetch` anyway; in
 * Node, and in a local workerd, hand in a `fetch` that looks at the address it connects to, or keep such
 * networks out of reach.
 */
export async function publicFetch(
  input: string | URL,
  init: RequestInit = {},
  options: PublicFetchOptions = {},
): Promise<Response> {
  const { timeMs = limits.fetchMs, maxBytes = limits.maxFetchedBytes } = options;
  const timeout = AbortSignal.timeout(timeMs);
  const { signal: given } = init;
  const signal = given ? AbortSignal.any([given, timeout]) : timeout;
  const told = (error: unknown) => (timeout.aborted && !given?.aborted ? tooSlow(timeMs) : error);
  try {
    const response = await follow(requirePublic(input, options), { ...init, signal }, options);
    return bounded(response, maxBytes, told);
  } catch (error) {
    throw told(error);
  }
}

async function follow(
  first: URL,
  init: RequestInit,
  options: PublicFetchOptions,
): Promise<Response> {
  const { fetch: send = (url, init) => fetch(url, init), ports = [] } = options;
  let [url, request] = [first, init];
  for (let hop = 0; hop <= limits.maxFetchRedirects; hop++) {
    const response = await send(url.href, { ...request, redirect: "manual" });
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = requirePublic(location, { base: url, ports });
    request = redirected(request, response.status, next.origin === url.origin);
    url = next;
  }
  const advice = "The server redirects in circles, or too far.";
  throw limitExceeded("maxFetchRedirects", {
    maximum: limits.maxFetchRedirects,
    actual: limits.maxFetchRedirects + 1,
    advice,
  });
}

/** What is sent to the next address; as browsers do it, 303 and a redirected POST become a GET. */
function redirected(request: RequestInit, status: number, isSameOrigin: boolean): RequestInit {
  const { method = "GET", body, headers, ...rest } = request;
  const name = method.toUpperCase();
  const becomesGet = status === 303 ? name !== "HEAD" : status < 303 && name === "POST";
  const kept = [...new Headers(headers)].filter(
    ([header]) =>
      (isSameOrigin || TOLD_TO_OTHERS.has(header)) &&
      !(becomesGet && header.startsWith("content-")),
  );
  if (becomesGet) return { ...rest, method: "GET", headers: kept };
  // A stream has been read already.
  if (body instanceof ReadableStream) {
    throw new ByrefError("tool_failed", "The server redirects what was sent as a stream.");
  }
  return { ...rest, method, headers: kept, ...(body === undefined ? {} : { body }) };
}

function bounded(response: Response, maximum: number, told: (error: unknown) => unknown): Response {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > maximum) {
    void response.body?.cancel().catch(() => undefined);
    throw tooLong(maximum, declared);
  }
  if (response.body === null) return response;
  const reader = response.body.getReader();
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const read = await reader.read();
          if (read.done) return controller.close();
          bytes += read.value.byteLength;
          if (bytes > maximum) throw tooLong(maximum, bytes);
          controller.enqueue(read.value);
        } catch (error) {
          controller.error(told(error));
          await reader.cancel(error).catch(() => undefined);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers(response.headers);
  // It is decoded already.
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  const { status, statusText } = response;
  return new Response(body, { status, statusText, headers });
}

function tooLong(maximum: number, actual: number): ByrefError {
  return limitExceeded("maxFetchedBytes", { maximum, actual, advice: "Fetch something shorter." });
}

function tooSlow(milliseconds: number): ByrefError {
  return new ByrefError("tool_timeout", `There was no answer within ${milliseconds} ms.`);
}
