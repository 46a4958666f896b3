import {
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";

export interface FrontOptions {
  readonly port: number;
  readonly ip: string;
  /** Where wrangler listens, on the loopback address. */
  readonly innerPort: number;
  /** Sent along with every request: wrangler's port answers nobody who does not know it. */
  readonly secret: string;
  /** False while wrangler is being restarted: then nobody is asked. */
  readonly isUp: () => boolean;
}

/**
 * The listener in front of wrangler. Local wrangler takes the Host that the Worker sees from a header
 * that any client can send (`MF-Original-URL`), so that a page which rebinds its name to this machine
 * would look local. Here such headers are dropped, and the Host that was really sent is passed on.
 */
export async function startFront(options: FrontOptions): Promise<Server> {
  const { port, ip, isUp } = options;
  const server = createServer({ shouldUpgradeCallback: isWebSocket }, (incoming, outgoing) => {
    if (!isUp()) return refuse(incoming, outgoing);
    const inner = requestBehind(incoming, options);
    inner.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on("error", () => outgoing.destroy());
    });
    inner.on("error", () => {
      if (outgoing.headersSent) outgoing.destroy();
      else refuse(incoming, outgoing);
    });
    // A client that goes away takes its request with it.
    outgoing.on("close", () => inner.destroy());
    incoming.pipe(inner);
  });
  server.on("upgrade", (incoming: IncomingMessage, outer: Duplex, head: Buffer) => {
    if (isUp()) passUpgradeOn(requestBehind(incoming, options), outer, head);
    else outer.destroy();
  });
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(port, ip, () => done());
  });
  return server;
}

/** Any other offer to upgrade may be passed over. */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

function requestBehind(
  incoming: IncomingMessage,
  { innerPort, secret }: FrontOptions,
): ClientRequest {
  return request({
    host: "127.0.0.1",
    port: innerPort,
    method: incoming.method,
    path: incoming.url,
    headers: { ...passedOn(incoming.headers), "x-byref-local": secret },
  });
}

/** A WebSocket: once wrangler has taken it, bytes are passed on as they are, until either side is gone. */
function passUpgradeOn(inner: ClientRequest, outer: Duplex, head: Buffer): void {
  outer.on("error", () => inner.destroy());
  outer.on("close", () => inner.destroy());
  inner.on("upgrade", (response, socket, innerHead) => {
    outer.write(headOf(response, response.rawHeaders));
    outer.write(innerHead);
    socket.write(head);
    socket.pipe(outer).pipe(socket);
    socket.on("error", () => outer.destroy());
    socket.on("close", () => outer.destroy());
    outer.on("close", () => socket.destroy());
  });
  inner.on("response", (response) => {
    const type = response.headers["content-type"] ?? "text/plain";
    outer.write(headOf(response, ["content-type", type, "connection", "close"]));
    response.pipe(outer);
  });
  inner.on("error", () => outer.destroy());
  inner.end();
}

function headOf({ statusCode, statusMessage }: IncomingMessage, pairs: readonly string[]): string {
  const lines = pairs.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${pairs[at + 1]}`] : []));
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, "", ""].join("\r\n");
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const headers = { "content-type": "application/problem+json", "retry-after": "2" };
  const title = "The local Worker is being restarted";
  const problem = { type: "urn:byref:restarting", title, status: 503, code: "restarting" };
  outgoing.writeHead(503, headers).end(JSON.stringify(problem));
  incoming.resume();
}

function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const isTrusted = (name: string) =>
    !name.startsWith("mf-") && !name.startsWith("x-forwarded-") && name !== "x-byref-local";
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isTrusted(name)));
}
