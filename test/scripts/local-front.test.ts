import { createServer, type IncomingMessage, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { startFront } from "../../scripts/local-front.ts";
import { slow } from "../support/slow.ts";

const SECRET = "secret-of-this-run";
const MIB = 1_048_576;

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listen<Listener extends Server | HttpServer>(server: Listener): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", () => done()));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Returns a port on which no server listens. */
async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((done) => server.close(done));
  return port;
}

async function front(innerPort: number, isUp = () => true, isFull = () => false): Promise<number> {
  const own = { port: 0, ip: "127.0.0.1", innerPort, secret: SECRET };
  const server = await startFront({ ...own, isUp, isFull });
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a front before a Worker that answers "echo". `asked` lists the requests to the Worker. */
async function frontOfEcho(
  isFull = () => false,
): Promise<{ port: number; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const inner = createServer((request, response) => {
    asked.push(request);
    response.end("echo");
  });
  return { port: await front(await listen(inner), () => true, isFull), asked };
}

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends the text unchanged, unlike any client library. */
function send(port: number, text: string | Buffer): Promise<Answer> {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.on("data", (bytes) => (answer += bytes.toString()));
    socket.on("error", () => undefined);
    socket.on("close", () => {
      const [head = "", ...parts] = answer.split("\r\n\r\n");
      const body = parts.join("\r\n\r\n");
      done({ status: Number(/^HTTP\/1.1 (\d+)/.exec(head)?.[1]), head, body });
    });
    socket.write(text);
  });
}

const get = (target: string, host = "host: localhost") =>
  `GET ${target} HTTP/1.1\r\n${host === "" ? "" : `${host}\r\n`}connection: close\r\n\r\n`;

const upgrade = (target: string, host?: string) =>
  get(target, host).replace("connection: close", "upgrade: websocket\r\nconnection: upgrade");

const problemIn = ({ status, head, body }: Answer) => {
  expect(head).toMatch(/^content-type: application\/problem\+json$/im);
  const { code, type } = JSON.parse(body) as { code: string; type: string };
  expect(type).toBe(`urn:byref:${code}`);
  return { status, code };
};

describe("the local listener", () => {
  it("forwards a request with its secret, and without headers that wrangler would trust", async () => {
    const { port, asked } = await frontOfEcho();
    const host = "host: a.example:80\r\nMF-Original-URL: http://localhost/\r\nx-byref-local: guess";
    expect(await send(port, get("/agents?x=1", host))).toMatchObject({ status: 200, body: "echo" });
    const [{ url, headers } = { url: "", headers: {} }] = asked;
    expect(url).toBe("/agents?x=1");
    expect(headers).toMatchObject({ host: "a.example:80", "x-byref-local": SECRET });
    expect(headers).not.toHaveProperty("mf-original-url");
  });

  it("forwards only reads and deletions while the disk is full", async () => {
    const { port, asked } = await frontOfEcho(() => true);
    for (const method of ["GET", "HEAD", "OPTIONS", "DELETE"]) {
      expect(await send(port, get("/x").replace("GET", method))).toMatchObject({ status: 200 });
    }
    for (const method of ["POST", "PUT", "PATCH"]) {
      const answer = await send(port, get("/x").replace("GET", method));
      expect(problemIn(answer)).toEqual({ status: 507, code: "storage_full" });
    }
    expect(asked.map(({ method }) => method)).toEqual(["GET", "HEAD", "OPTIONS", "DELETE"]);
  });

  it.each([
    "/cdn-cgi/explorer",
    "/cdn-cgi",
    "/CDN-CGI/handler/scheduled",
    "/%63dn%2dcgi/explorer",
    "/./cdn-cgi/explorer",
    "/x/%2e%2e/cdn-cgi/explorer",
    "//cdn-cgi/explorer",
    "/\\cdn-cgi/explorer",
    "/cdn-cgi%2fexplorer",
    "/cdn-cgi?x",
  ])("does not forward %s", async (target) => {
    const { port, asked } = await frontOfEcho();
    expect(problemIn(await send(port, get(target)))).toEqual({ status: 404, code: "not_found" });
    expect(asked).toEqual([]);
  });

  it.each(["/cdn-cgi-notes", "/conversations/cdn-cgi/messages", "/a%zz", "//x", "/?/cdn-cgi/"])(
    "forwards %s unchanged",
    async (target) => {
      const { port, asked } = await frontOfEcho();
      expect(await send(port, get(target))).toMatchObject({ status: 200 });
      expect(asked.map(({ url }) => url)).toEqual([target]);
    },
  );

  it.each(["*", "http://evil.example/agents", "http://localhost/cdn-cgi/explorer", "agents"])(
    "refuses the target %s, which does not start with a slash",
    async (target) => {
      const { port, asked } = await frontOfEcho();
      const method = target === "*" ? "OPTIONS" : "GET";
      const answer = await send(port, get(target).replace("GET", method));
      expect(problemIn(answer)).toEqual({ status: 400, code: "bad_request" });
      expect(asked).toEqual([]);
    },
  );

  it.each([
    [400, "GET / HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n"],
    [431, get("/", `host: localhost\r\nx: ${"x".repeat(20_000)}`)],
  ])("answers invalid HTTP with %i", async (status, text) => {
    const { port, asked } = await frontOfEcho();
    expect(problemIn(await send(port, text))).toEqual({ status, code: "bad_request" });
    expect(asked).toEqual([]);
  });

  it.each([
    "",
    "host:",
    "host: a b",
    "host: [",
    "host: [::1",
    "host: localhost:99999",
    "host: localhost:x",
    "host: user@localhost",
    "host: localhost/x",
    "host: localhost?",
    "host: %6cocalhost",
    "host: localhost, evil.example",
    "host: localhost\r\nhost: evil.example",
    "host: ::1",
    "host: 1.2.3.4.5.999",
  ])("answers a malformed Host with a problem: %j", async (host) => {
    const { port, asked } = await frontOfEcho();
    const answer = await send(port, get("/agents", host));
    expect(problemIn(answer)).toEqual({ status: 400, code: "bad_request" });
    expect(problemIn(await send(port, upgrade("/a", host)))).toEqual({
      status: 400,
      code: "bad_request",
    });
    expect(asked).toEqual([]);
  });

  it("reports a restart of the Worker only while it is down", async () => {
    const down = { status: 503, code: "restarting" };
    const stopped = await front(await closedPort());
    expect(problemIn(await send(stopped, get("/")))).toEqual(down);
    expect(problemIn(await send(stopped, upgrade("/")))).toEqual(down);
    const { port } = await frontOfEcho();
    const told = await front(port, () => false);
    expect(problemIn(await send(told, get("/")))).toEqual(down);
    const hangingUp = await front(
      await listen(createTcpServer((socket) => socket.once("data", () => socket.destroy()))),
    );
    const answer = problemIn(await send(hangingUp, get("/")));
    expect(answer).toEqual({ status: 502, code: "no_answer" });
    expect(problemIn(await send(hangingUp, upgrade("/")))).toEqual(answer);
  });
});

describe("a Worker that refuses an upload before reading it", () => {
  const refusal = "HTTP/1.1 413 Payload Too Large\r\ncontent-length: 9\r\n\r\ntoo large";

  /** Answers and closes the connection in the middle of the upload, like workerd. Later writes fail. */
  const refuseEarly = () =>
    listen(
      createTcpServer((socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => {
          socket.write(refusal);
          socket.resetAndDestroy();
        });
      }),
    );

  it.each(["content-length", "chunked"])("has its answer forwarded: %s", slow, async (framing) => {
    const port = await front(await refuseEarly());
    const body = Buffer.alloc(4 * MIB, "x");
    const length =
      framing === "chunked" ? "transfer-encoding: chunked" : `content-length: ${4 * MIB}`;
    const head = `PUT /x HTTP/1.1\r\nhost: localhost\r\n${length}\r\nconnection: close\r\n\r\n`;
    const chunk = [
      Buffer.from(`${body.length.toString(16)}\r\n`),
      body,
      Buffer.from("\r\n0\r\n\r\n"),
    ];
    const sent = framing === "chunked" ? chunk : [body];
    for (let times = 0; times < 10; times++) {
      const answer = await send(port, Buffer.concat([Buffer.from(head), ...sent]));
      expect(answer).toMatchObject({ status: 413, body: "too large" });
    }
  });

  // Wrangler loses the answer between its own two processes.
  it("is asked again without the body if wrangler lost its answer", async () => {
    const lengths: number[] = [];
    const inner = createServer((request, response) => {
      let length = 0;
      const isFirst = lengths.length === 0;
      const at = lengths.push(0) - 1;
      request.on("error", () => undefined);
      request.on("data", (chunk: Buffer) => (lengths[at] = length += chunk.length));
      if (isFirst) {
        response.writeHead(500, { "content-type": "text/plain; charset=utf-8" });
        response.end("Error: Network connection lost.");
      } else response.writeHead(413).end("too large");
    });
    const port = await front(await listen(inner));
    const head = `PUT /x HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${MIB}\r\nconnection: close\r\n\r\n`;
    const answer = await send(port, Buffer.concat([Buffer.from(head), Buffer.alloc(MIB, "x")]));
    expect(answer.status).toBe(413);
    expect(answer.body).toContain("too large");
    expect(lengths[1]).toBe(0);
  });

  it("receives the next request on the connection, although wrangler did not read the first", async () => {
    const answers = [500, 413, 200];
    const inner = createServer((request, response) => {
      request.on("error", () => undefined);
      response.writeHead(answers.shift() ?? 0, { "content-type": "text/plain" }).end();
    });
    const port = await front(await listen(inner));
    const head = `PUT /x HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${4 * MIB}\r\n\r\n`;
    const requests = [Buffer.from(head), Buffer.alloc(4 * MIB, "x"), Buffer.from(get("/next"))];
    const answer = await send(port, Buffer.concat(requests));
    expect(answer.body).toContain("HTTP/1.1 200");
  });
});
