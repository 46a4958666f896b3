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
