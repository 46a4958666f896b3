import { compact } from "../value/json.ts";
import { ByrefError, limitExceeded } from "../errors.ts";
import * as limits from "../limits.ts";
import { requireWellFormed } from "../value/well-formed.ts";

/** Allowed ports and limits of a fetch. */
export interface PublicFetchOptions {
  /** Ports that are allowed in addition to 80 and 443. */
  readonly ports?: readonly number[];
  /** Maximum size of the response's body. Default: `maxFetchedBytes`. */
  readonly maxBytes?: number;
  /** Time limit in milliseconds from the call to the last byte, redirects included. Default: `fetchMs`. */
  readonly timeMs?: number;
  /** Performs the requests. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/**
 * Only these headers follow a redirect to another origin; other headers may identify the caller or hold
 * keys.
 */
const CROSS_ORIGIN_HEADERS = new Set(["accept", "accept-language", "content-type", "user-agent"]);

/**
 * `fetch` for tools that receive a URL from a model. Fetches from public servers only, by http or https, on
 * port 80 or 443. Checks each redirect in the same way, and drops headers that could hold keys on a redirect
 * to another origin. Rejects with `address_not_allowed`, `limit_exceeded` (too many redirects or bytes) or
 * `tool_timeout`; reading the body may reject with the latter two. Rejects with `bad_value` for half of a character,
 * which would arrive as another one.
 *
 * It does not check the address that a name resolves to: a name that resolves to a private address is
 * reached, at once or on a later lookup (DNS rebinding). A Worker on Cloudflare cannot reach private
 * networks by `fetch`. In Node, and in a local workerd, pass a `fetch` that checks the address it connects
 * to, or make private networks unreachable.
 */
export async function publicFetch(
  input: string | URL,
  init: RequestInit = {},
  options: PublicFetchOptions = {},
): Promise<Response> {
  requireWellFormed(String(input), "A URL");
  if (typeof init.body === "string") requireWellFormed(init.body, "The body of a request");
  const { timeMs = limits.fetchMs, maxBytes = limits.maxFetchedBytes } = options;
  const timeout = AbortSignal.timeout(timeMs);
  const { signal: callerSignal } = init;
  const signal = callerSignal ? AbortSignal.any([callerSignal, timeout]) : timeout;
  const asTimeout = (error: unknown) =>
    timeout.aborted && !callerSignal?.aborted ? tooSlow(timeMs) : error;
  try {
    const response = await follow(requirePublic(input, options), { ...init, signal }, options);
    return bounded(response, maxBytes, asTimeout);
  } catch (error) {
    throw asTimeout(error);
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

/**
 * Returns the request to the next address. As in browsers, a 303, or a POST that a 301 or 302 redirects,
 * becomes a GET.
 */
function redirected(request: RequestInit, status: number, isSameOrigin: boolean): RequestInit {
  const { method = "GET", body, headers, ...rest } = request;
  const name = method.toUpperCase();
  const becomesGet = status === 303 ? name !== "HEAD" : status < 303 && name === "POST";
  const kept = [...new Headers(headers)].filter(
    ([header]) =>
      (isSameOrigin || CROSS_ORIGIN_HEADERS.has(header)) &&
      !(becomesGet && header.startsWith("content-")),
  );
  if (becomesGet) return { ...rest, method: "GET", headers: kept };
  // A stream has already been read.
  if (body instanceof ReadableStream) {
    throw new ByrefError("tool_failed", "The server redirects what was sent as a stream.");
  }
  return { ...rest, method, headers: kept, ...compact({ body }) };
}

function bounded(
  response: Response,
  maximum: number,
  asTimeout: (error: unknown) => unknown,
): Response {
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
          controller.error(asTimeout(error));
          await reader.cancel(error).catch(() => undefined);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const headers = new Headers(response.headers);
  // The body is already decoded.
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

/** IPv4 ranges that are not public by IANA's registries, and addresses that cloud providers reserve. */
const NON_PUBLIC_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // behind a carrier's NAT
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // the host of an Azure machine
  "169.254.0.0/16", // link-local: metadata of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocols
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays of 6to4
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/3", // multicast, reserved, broadcast
].map((text): readonly [number, number] => {
  const [address = "", bits = ""] = text.split("/");
  return [numberOf(address), 2 ** (32 - Number(bits))];
});

/** Names of a local machine or of a private network. */
const NON_PUBLIC_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|lan|home|corp|arpa|svc|test|invalid|onion|metadata\.goog)$/;

const PORTS = new Set([80, 443]);

/**
 * Returns the URL if it points to a public server by http or https, judged by the URL alone. Throws
 * `address_not_allowed`. The URL parser normalises all notations of an address (decimal, octal, hex, short,
 * percent-encoded, fullwidth), and rejects what it cannot parse.
 */
function requirePublic(
  input: string | URL,
  { base, ports = [] }: { readonly base?: URL; readonly ports?: readonly number[] } = {},
): URL {
  // A copy, because the caller may change the original.
  const url = URL.parse(String(input), base?.href);
  if (url === null) throw notAllowed("It is no URL.");
  const isHttps = url.protocol === "https:";
  if (!isHttps && url.protocol !== "http:") throw notAllowed(`Its scheme is ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    throw notAllowed("It carries a name or password.");
  const port = url.port === "" ? undefined : Number(url.port);
  if (port !== undefined && !PORTS.has(port) && !ports.includes(port)) {
    throw notAllowed(`Its port is ${port}.`);
  }
  if (!isPublicHost(url.hostname)) throw notAllowed(`${url.hostname} is not a public address.`);
  return url;
}

function notAllowed(why: string): ByrefError {
  return new ByrefError("address_not_allowed", `The address is not allowed. ${why}`);
}

/** Takes the hostname of a parsed URL. */
function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return isPublicIpv6(hostname.slice(1, -1));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return isPublicIpv4(numberOf(hostname));
  const name = hostname.replace(/\.+$/, "");
  // A name with a single label is a machine of a private network.
  return name.includes(".") && !NON_PUBLIC_NAME.test(name);
}

function isPublicIpv4(address: number): boolean {
  return !NON_PUBLIC_IPV4.some(([first, size]) => address >= first && address < first + size);
}

/**
 * True for global unicast addresses, except ranges for protocols or documentation and ranges that carry an
 * IPv4 address (6to4, Teredo). Mapped, compatible and NAT64 addresses are not global unicast.
 */
function isPublicIpv6(address: string): boolean {
  const [first = 0, second = 0] = firstGroups(address);
  if (first < 0x2000 || first > 0x3fff) return false;
  const isForProtocols = first === 0x2001 && (second < 0x0200 || second === 0x0db8);
  const isDocumentation = first === 0x3fff && second < 0x1000;
  return !isForProtocols && !isDocumentation && first !== 0x2002;
}

/** The first two groups. The URL parser writes each in hex, and a run of zeros as `::`. */
function firstGroups(address: string): readonly number[] {
  const [before = ""] = address.split("::");
  return before.split(":").map((group) => Number.parseInt(group, 16) || 0);
}

function numberOf(address: string): number {
  return address.split(".").reduce((number, byte) => number * 256 + Number(byte), 0);
}
