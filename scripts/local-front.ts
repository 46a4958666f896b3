import {
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { maxBodyBytes, tooLarge } from "../src/edge/http/client-body.ts";
import { errorCodes } from "../src/errors.ts";

export interface FrontOptions {
  readonly port: number;
  readonly ip: string;
  /** Wrangler's port on the loopback address. */
  readonly innerPort: number;
  /** Added to every request: wrangler's port rejects requests without it. */
  readonly secret: string;
  /** False while wrangler restarts: no request is forwarded then. */
  readonly isUp: () => boolean;
  /** True while only reads and deletions are forwarded. */
  readonly isFull: () => boolean;
  /** Called with the number of bytes that the Worker has received or sent. */
  readonly onBytes?: (count: number) => void;
}

/** Shorter bodies are read completely before the connection can be closed. */
const LARGE_BYTES = 65_536;
const REFUSAL_TIMEOUT_MS = 5_000;

/** A response of this listener itself. */
interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const RESTARTING: Refusal = {
  status: 503,
  code: "restarting",
  title: "The local Worker is being restarted",
  headers: { "retry-after": "2" },
};
const NO_RESPONSE: Refusal = {
  status: 502,
  code: "no_answer",
  title: "The local Worker closed the connection without an answer",
};

const FULL: Refusal = {
  ...errorCodes.storage_full,
  code: "storage_full",
  title: "The disk is full",
  detail: "Until the server's disk has space again, only reads and deletions are possible.",
};
const ON_FULL_DISK = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/**
 * Refuses a body that is too large. The Worker would do so too, but wrangler loses the response of a Worker that
 * does not read a whole body.
 */
function tooLargeFor(incoming: IncomingMessage): Refusal {
  const { code, message } = tooLarge(maxBytesOf(incoming));
  return { ...errorCodes.body_too_large, code, detail: message };
}

function maxBytesOf({ method = "", url = "", headers }: IncomingMessage): number {
  const path = new URL(`http://localhost${url}`).pathname;
  return maxBodyBytes({ method, path }, headers["content-type"]);
}

/**
 * The listener in front of wrangler. Local wrangler takes the Host that the Worker sees from a header that
 * any client can send (`MF-Original-URL`), so a page that rebinds its name to this machine would appear
 * local. This listener drops such headers and forwards the Host that the client sent.
 */
export async function startFront(options: FrontOptions): Promise<Server> {
  const { port, ip, isUp, isFull } = options;
  const settings = { shouldUpgradeCallback: isWebSocket, requireHostHeader: false };
  const server = createServer(settings, (incoming, outgoing) => {
    let refusal = isUp() ? refusalOf(incoming) : RESTARTING;
    if (!ON_FULL_DISK.has(incoming.method ?? "") && isFull()) refusal ??= FULL;
    if (refusal === undefined) forward(incoming, outgoing, options);
    else refuse(incoming, outgoing, refusal);
  });
  server.on("upgrade", (incoming: IncomingMessage, outer: Duplex, head: Buffer) => {
    const refusal = isUp() ? refusalOf(incoming) : RESTARTING;
    if (refusal === undefined) forwardUpgrade({ incoming, outer, head }, options);
    else refuseSocket(outer, refusal);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // During a response, the client would read this as a part of it.
    if (socket.writable && socket.bytesWritten === 0) refuseSocket(socket, refusalOfParser(error));
    else socket.destroy();
  });
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(port, ip, () => done());
  });
  return server;
}

/**
 * Rejects requests that wrangler would interpret differently from the client, and paths that wrangler
 * reserves.
 */
function refusalOf(incoming: IncomingMessage): Refusal | undefined {
  const { url = "", headers, rawHeaders } = incoming;
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  if (hosts.length !== 1 || !isHost(headers.host ?? "")) {
    return badRequest("The request needs one Host header with a name and, if any, a port.");
  }
  if (!url.startsWith("/") || !URL.canParse(`http://localhost${url}`)) {
    return badRequest("The target of the request must be a path that begins with a slash.");
  }
  if (Number(headers["content-length"] ?? 0) > maxBytesOf(incoming)) return tooLargeFor(incoming);
  if (!isReservedPath(url)) return undefined;
  const detail = "Paths below /cdn-cgi belong to wrangler, and are not served.";
  return { ...errorCodes.not_found, code: "not_found", detail };
}

/** The response to a request that Node cannot parse. */
function refusalOfParser({ code = "", message }: NodeJS.ErrnoException): Refusal {
  const statuses: Readonly<Record<string, number>> = {
    HPE_HEADER_OVERFLOW: 431,
    ERR_HTTP_REQUEST_TIMEOUT: 408,
  };
  const refusal = badRequest(`The request is not valid HTTP: ${message}.`);
  return { ...refusal, status: statuses[code] ?? refusal.status };
}

/** The response to a request that failed before its response began. */
function refusalAfter({ code }: NodeJS.ErrnoException, { isUp }: FrontOptions): Refusal {
  return !isUp() || code === "ECONNREFUSED" ? RESTARTING : NO_RESPONSE;
}

function badRequest(detail: string): Refusal {
  return { ...errorCodes.bad_request, code: "bad_request", detail };
}

function isHost(host: string): boolean {
  return /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(host) && URL.canParse(`http://${host}`);
}

/**
 * True for wrangler's explorer and its handlers of alarms, mail and schedules, with any spelling of the path.
 */
function isReservedPath(target: string): boolean {
  const path = new URL(`http://localhost${target}`).pathname;
  // A path with another escape that is not UTF-8 is not one of them, but may still begin like them.
  const plain = path.replaceAll(/%[\da-f]{2}/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  return /^[/\\]*cdn-cgi(?![\w-])/i.test(plain);
}

/** Only WebSocket upgrades are supported; other offers may be ignored. */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, options: FrontOptions): void {
  const inner = innerRequest(incoming, options, withoutConnectionHeaders(incoming.headers));
  let hasResponded = false;
  inner.on("response", (response) => {
    hasResponded = true;
    if (hasLostResponse(incoming, response)) {
      response.resume();
      sendWithoutBody(incoming, outgoing, options);
    } else forwardResponse(response, outgoing, options);
    // A Worker may respond before it has read everything. The client reads the response once it has sent the
    // rest.
    response.on("end", () => incoming.unpipe(inner).resume());
  });
  inner.on("error", (error: NodeJS.ErrnoException) => {
    if (!hasResponded) refuse(incoming, outgoing, refusalAfter(error, options));
  });
  // If the client disconnects, its request ends too.
  outgoing.on("close", () => inner.destroy());
  let left = maxBytesOf(incoming);
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left >= 0 || hasResponded) return;
    hasResponded = true;
    incoming.unpipe(inner);
    inner.destroy();
    refuse(incoming, outgoing, tooLargeFor(incoming));
  });
  incoming.pipe(inner);
}

function forwardResponse(
  response: IncomingMessage,
  outgoing: ServerResponse,
  { onBytes }: FrontOptions,
): void {
  outgoing.writeHead(response.statusCode ?? 502, withoutConnectionHeaders(response.headers));
  outgoing.flushHeaders();
  response.pipe(outgoing);
  if (onBytes !== undefined) response.on("data", (chunk: Buffer) => onBytes(chunk.length));
  response.on("error", () => outgoing.destroy());
}

/**
 * True for an error of wrangler itself. It forwards requests over an internal connection, and loses the
 * response of a Worker that rejects a large body and disconnects.
 */
function hasLostResponse({ headers }: IncomingMessage, response: IncomingMessage): boolean {
  const { statusCode, headers: responseHeaders } = response;
  const isWranglers =
    statusCode === 500 && responseHeaders["content-type"]?.startsWith("text/plain");
  return isWranglers === true && Number(headers["content-length"]) >= LARGE_BYTES;
}

/**
 * Sends the request without its body, to get the lost response: a Worker rejects a body by its declared
 * length, and can do nothing else without the body.
 */
function sendWithoutBody(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: FrontOptions,
): void {
  const retry = innerRequest(incoming, options, withoutConnectionHeaders(incoming.headers));
  retry.setTimeout(REFUSAL_TIMEOUT_MS, () => retry.destroy(new Error("No answer.")));
  retry.on("response", (response) => {
    response.on("end", () => retry.destroy());
    forwardResponse(response, outgoing, options);
  });
  retry.on("error", () => {
    if (!outgoing.headersSent) refuse(incoming, outgoing, NO_RESPONSE);
  });
  outgoing.on("close", () => retry.destroy());
  retry.flushHeaders();
}

/**
 * Continues to read if writing fails. A Worker that rejects an upload responds and disconnects; by default
 * the failed write would discard that response.
 */
class ResilientSocket extends Socket {
  readonly #onBytes: ((count: number) => void) | undefined;

  constructor(onBytes: ((count: number) => void) | undefined) {
    super();
    this.#onBytes = onBytes;
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    super._write(chunk, encoding, this.#after(chunk.length, done));
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: () => void): void {
    const length = chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
    super._writev?.(chunks, this.#after(length, done));
  }

  #after(count: number, done: () => void) {
    return (error?: Error | null) => {
      if (!error) this.#onBytes?.(count);
      done();
    };
  }
}

function innerRequest(
  incoming: IncomingMessage,
  { innerPort, secret, onBytes }: FrontOptions,
  headers = incoming.headers,
): ClientRequest {
  return request({
    createConnection: () => new ResilientSocket(onBytes).connect(innerPort, "127.0.0.1"),
    method: incoming.method,
    path: incoming.url,
    headers: { ...forwardedHeaders(headers), "x-byref-local": secret },
  });
}

interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly outer: Duplex;
  /** The bytes that were read after the request. */
  readonly head: Buffer;
}

/** Forwards a WebSocket: once wrangler has accepted it, bytes are copied until either side disconnects. */
function forwardUpgrade({ incoming, outer, head }: Upgrade, options: FrontOptions): void {
  const inner = innerRequest(incoming, options);
  let hasResponded = false;
  outer.on("error", () => inner.destroy());
  outer.on("close", () => inner.destroy());
  inner.on("upgrade", (response, socket, innerHead) => {
    hasResponded = true;
    outer.write(headOf(response, response.rawHeaders));
    outer.write(innerHead);
    socket.write(head);
    socket.pipe(outer).pipe(socket);
    socket.on("error", () => outer.destroy());
    socket.on("close", () => outer.destroy());
    outer.on("close", () => socket.destroy());
  });
  inner.on("response", (response) => {
    hasResponded = true;
    const type = response.headers["content-type"] ?? "text/plain";
    outer.write(headOf(response, ["content-type", type, "connection", "close"]));
    response.pipe(outer);
  });
  inner.on("error", (error: NodeJS.ErrnoException) => {
    if (hasResponded) outer.destroy();
    else refuseSocket(outer, refusalAfter(error, options));
  });
  inner.end();
}

type StatusLine = Pick<IncomingMessage, "statusCode" | "statusMessage">;

function headOf({ statusCode, statusMessage }: StatusLine, pairs: readonly string[]): string {
  const lines = pairs.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${pairs[at + 1]}`] : []));
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, "", ""].join("\r\n");
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, refusal: Refusal): void {
  const { headers, body } = problemOf(refusal);
  outgoing.writeHead(refusal.status, headers).end(body);
  incoming.resume();
}

/** Sends a refusal on a connection that Node no longer handles. */
function refuseSocket(outer: Duplex, refusal: Refusal): void {
  const { headers, body } = problemOf(refusal);
  const pairs = Object.entries({ ...headers, connection: "close" }).flat();
  outer.on("error", () => outer.destroy());
  outer.end(headOf({ statusCode: refusal.status, statusMessage: refusal.title }, pairs) + body);
}

function problemOf({ headers, status, code, title, detail }: Refusal) {
  const body = JSON.stringify({ type: `urn:byref:${code}`, title, status, detail, code });
  const type = "application/problem+json";
  const length = String(Buffer.byteLength(body));
  return { headers: { "content-type": type, "content-length": length, ...headers }, body };
}

function forwardedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const isTrusted = (name: string) =>
    !name.startsWith("mf-") && !name.startsWith("x-forwarded-") && name !== "x-byref-local";
  // This listener has answered `Expect` itself.
  return without(headers, (name) => !isTrusted(name) || name === "expect");
}

/** Removes headers of the connection, because each side has its own. Upgrade requests need them. */
function withoutConnectionHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return without(headers, (name) => name === "connection" || name === "keep-alive");
}

function without(
  headers: IncomingHttpHeaders,
  isDropped: (name: string) => boolean,
): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isDropped(name)));
}
