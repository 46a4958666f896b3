import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";

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
  const { port, ip, innerPort, secret, isUp } = options;
  const server = createServer((incoming, outgoing) => {
    if (!isUp()) return refuse(incoming, outgoing);
    const inner = request({
      host: "127.0.0.1",
      port: innerPort,
      method: incoming.method,
      path: incoming.url,
      headers: { ...passedOn(incoming.headers), "x-byref-local": secret },
    });
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
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(port, ip, () => done());
  });
  return server;
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
