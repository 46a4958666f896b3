import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  IncomingMessage,
  request,
  type Server,
  ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import { maxBodyBytes, tooLarge } from "../src/edge/http/client-body.ts";
import { errorCodes } from "../src/errors.ts";

interface FrontOptions {
  readonly port: number;
  readonly ip: string;
  /** Wrangler's port on the loopback address. */
  readonly innerPort: number;
  /** Added to every request: wrangler's port rejects requests without it. */
  readonly secret: string;
}

/** A response of this listener itself. */
interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
}

const NO_ANSWER: Refusal = {
  status: 502,
  code: "no_answer",
  title: "The local Worker closed the connection without an answer",
};
const NOT_A_PATH = "The target of the request must be a path that begins with a slash.";
const NOT_A_HOST = "The request needs one Host header with a name and, if any, a port.";
const RESERVED = "Paths below /cdn-cgi belong to wrangler, and are not served.";

/**
 * The listener in front of wrangler. Local wrangler takes the Host that the Worker sees from a header that any client
 * can send (`MF-Original-URL`), so a page that rebinds its name to this machine would appear local. This listener drops
 * such headers and forwards the Host that the client sent. It refuses bodies that are too large, because wrangler loses
 * the response of a Worker that does not read a whole body.
 */
export async function startFront(options: FrontOptions): Promise<Server> {
  const settings = { shouldUpgradeCallback: isWebSocket, requireHostHeader: false };
  const server = createServer(settings, (incoming, outgoing) => {
    const inner = forward(incoming, outgoing, options);
    // The client reads a response once it has sent the rest of its body.
    inner?.on("response", (response) => {
      response.on("end", () => incoming.unpipe(inner).resume());
    });
    let left = maxBytesOf(incoming);
    incoming.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left >= 0 || inner === undefined) return;
      answer(outgoing, tooLargeFor(incoming));
      inner.destroy();
    });
    if (inner !== undefined) incoming.pipe(inner);
  });
  server.on("upgrade", (incoming: IncomingMessage, outer: Socket, head: Buffer) => {
    const outgoing = responseOn(outer, incoming);
    const inner = forward(incoming, outgoing, options)?.end();
    inner?.on("upgrade", (response, socket, innerHead) => {
      outgoing.writeHead(101, response.rawHeaders).flushHeaders();
      outgoing.detachSocket(outer);
      outer.write(innerHead);
      socket.write(head);
      socket.pipe(outer).pipe(socket);
      socket.on("error", () => outer.destroy()).on("close", () => outer.destroy());
      outer.on("close", () => socket.destroy());
    });
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = badRequest(`The request is not valid HTTP: ${error.message}.`);
    const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : refusal.status;
    // During a response, the client would read this as a part of it.
    if (!socket.writable || socket.bytesWritten !== 0) socket.destroy();
    else answer(responseOn(socket), { ...refusal, status });
  });
  server.listen(options.port, options.ip);
  await once(server, "listening");
  return server;
}

/** Passes a request on, and its response back. Undefined if it is refused. */
function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: FrontOptions,
): ClientRequest | undefined {
  const refusal = refusalOf(incoming);
  if (refusal !== undefined) return void answer(outgoing, refusal);
  const inner = request(forwarded(incoming, options));
  inner.on("response", (response) => {
    outgoing.writeHead(response.statusCode ?? 502, withoutConnection(response.headers));
    outgoing.flushHeaders();
    response.pipe(outgoing).on("error", () => inner.destroy());
    response.on("error", () => outgoing.destroy());
  });
  inner.on("error", () => answer(outgoing, NO_ANSWER));
  outgoing.on("close", () => inner.destroy());
  return inner;
}

function answer(outgoing: ServerResponse, { status, code, title, detail }: Refusal): void {
  outgoing.req.unpipe().resume();
  if (outgoing.headersSent) return;
  const body = JSON.stringify({ type: `urn:byref:${code}`, title, status, detail, code });
  const length = Buffer.byteLength(body);
  const headers = { "content-type": "application/problem+json", "content-length": length };
  outgoing.writeHead(status, headers).end(body);
}

/** A response on a connection that Node no longer handles, which it closes. */
function responseOn(socket: Socket, incoming = new IncomingMessage(socket)): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket);
  socket.on("error", () => socket.destroy());
  return outgoing.on("finish", () => socket.end());
}

/** Rejects requests that wrangler would interpret differently from the client, and paths that wrangler reserves. */
function refusalOf(incoming: IncomingMessage): Refusal | undefined {
  const { url = "", headers, rawHeaders } = incoming;
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  const host = headers.host ?? "";
  const isHost =
    /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(host) && URL.canParse(`http://${host}`);
  if (hosts.length !== 1 || !isHost) return badRequest(NOT_A_HOST);
  if (!url.startsWith("/") || !URL.canParse(`http://localhost${url}`))
    return badRequest(NOT_A_PATH);
  if (Number(headers["content-length"] ?? 0) > maxBytesOf(incoming)) return tooLargeFor(incoming);
  const path = pathOf(url).replaceAll(/%[\da-f]{2}/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  if (!/^[/\\]*cdn-cgi(?![\w-])/i.test(path)) return undefined;
  return { ...errorCodes.not_found, code: "not_found", detail: RESERVED };
}

function pathOf(target: string): string {
  return new URL(`http://localhost${target}`).pathname;
}

function badRequest(detail: string): Refusal {
  return { ...errorCodes.bad_request, code: "bad_request", detail };
}

function tooLargeFor(incoming: IncomingMessage): Refusal {
  const { code, message } = tooLarge(maxBytesOf(incoming));
  return { ...errorCodes.body_too_large, code, detail: message };
}

function maxBytesOf({ method = "", url = "", headers }: IncomingMessage): number {
  return maxBodyBytes({ method, path: pathOf(url) }, headers["content-type"]);
}

/** Only WebSocket upgrades are supported; other offers may be ignored. */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

function forwarded(incoming: IncomingMessage, { innerPort, secret }: FrontOptions) {
  const { method, url: path } = incoming;
  const headers = isWebSocket(incoming) ? incoming.headers : withoutConnection(incoming.headers);
  // This listener has answered `Expect` itself.
  const kept = without(headers, /^(?:mf-|x-forwarded-|expect$)/);
  const createConnection = () => new PatientSocket().connect(innerPort, "127.0.0.1");
  return { createConnection, method, path, headers: { ...kept, "x-byref-local": secret } };
}

/**
 * Reads on when writing has failed: a Worker that refuses an upload responds and disconnects, and a failed write would
 * discard that response.
 */
class PatientSocket extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: () => void): void {
    super._writev?.(chunks, () => done());
  }
}

/** Each side has its own. Upgrade requests need them. */
function withoutConnection(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return without(headers, /^(?:connection|keep-alive)$/);
}

function without(headers: IncomingHttpHeaders, dropped: RegExp): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.test(name)));
}
