import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An HTTP server on the loopback address. */
export type Loopback = Awaited<ReturnType<typeof startLoopback>>;

/** Starts a server on a free port. If the handler throws, the connection is cut. */
export async function startLoopback(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
) {
  const server = createServer((request, response) => {
    void (async () => handle(request, response))().catch(() => response.destroy());
  });
  const listen = (port: number) =>
    new Promise<void>((done, fail) => {
      server.once("error", fail);
      server.listen(port, "127.0.0.1", done);
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** Listens again at the same address. */
    up: () => listen(port),
    /** Closes all connections, and refuses new ones. */
    down: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

export async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}
