import { createServer, type IncomingMessage, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { startFront } from "../../scripts/local-front.ts";

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

async function front(innerPort: number): Promise<number> {
  const server = await startFront({ port: 0, ip: "127.0.0.1", innerPort, secret: SECRET });
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a front before a Worker that answers "echo". `asked` lists the requests to the Worker. */
async function frontOfEcho(): Promise<{ port: number; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const inner = createServer((request, response) => {
    asked.push(request);
    response.end("echo");
  });
  return { port: await front(await listen(inner)), asked };
}

type Answer = { readonly status: number; readonly head: string; readonly body: string };

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

  it.each(["/cdn-cgi-notes", "/conversations/cdn-cgi/messages", "/a%zz", "//x", "/?/cdn-cgi/"])(
    "forwards %s unchanged",
    async (target) => {
      const { port, asked } = await frontOfEcho();
      expect(await send(port, get(target))).toMatchObject({ status: 200 });
      expect(asked.map(({ url }) => url)).toEqual([target]);
    },
  );

  const reserved =
    "/cdn-cgi/explorer /cdn-cgi /CDN-CGI/handler/scheduled /%63dn%2dcgi/explorer /./cdn-cgi/explorer " +
    "/x/%2e%2e/cdn-cgi/explorer //cdn-cgi/explorer /\\cdn-cgi/explorer /cdn-cgi%2fexplorer /cdn-cgi?x";
  const malformed = [
    ..."| a b| [| [::1| localhost:99999| localhost:x| user@localhost| localhost/x".split("|"),
    ..." localhost?| %6cocalhost| localhost, evil.example| ::1| 1.2.3.4.5.999".split("|"),
    " localhost\r\nhost: evil.example",
  ];
  const hosts = ["", ...malformed.map((host) => `host:${host}`)];
  const bad = { status: 400, code: "bad_request" };

  it.each<readonly [string, object]>([
    ...reserved
      .split(" ")
      .map((target) => [get(target), { status: 404, code: "not_found" }] as const),
    // Targets that do not start with a slash.
    ...["http://evil.example/agents", "http://localhost/cdn-cgi/explorer", "agents"].map(
      (target) => [get(target), bad] as const,
    ),
    [get("*").replace("GET", "OPTIONS"), bad],
    ["GET / HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n", bad],
    [get("/", `host: localhost\r\nx: ${"x".repeat(20_000)}`), { ...bad, status: 431 }],
    ...hosts.flatMap((host) => [get, upgrade].map((make) => [make("/agents", host), bad] as const)),
  ])("does not forward %j", async (text, problem) => {
    const { port, asked } = await frontOfEcho();
    expect(problemIn(await send(port, text))).toEqual(problem);
    expect(asked).toEqual([]);
  });

  it("ignores an offer to upgrade to another protocol", async () => {
    const { port, asked } = await frontOfEcho();
    const offer = "host: localhost\r\nupgrade: h2c";
    expect(await send(port, get("/x", offer))).toMatchObject({ status: 200, body: "echo" });
    expect(asked).toHaveLength(1);
  });

  it("says that the Worker closed the connection, or does not listen", async () => {
    const noAnswer = { status: 502, code: "no_answer" };
    const hangUp = createTcpServer((socket) => socket.once("data", () => socket.destroy()));
    for (const innerPort of [await closedPort(), await listen(hangUp)]) {
      const port = await front(innerPort);
      expect(problemIn(await send(port, get("/")))).toEqual(noAnswer);
      expect(problemIn(await send(port, upgrade("/")))).toEqual(noAnswer);
    }
  });

  // As workerd does. Later writes fail.
  it("passes on the answer of a Worker that disconnects in the middle of an upload", async () => {
    const inner = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.write("HTTP/1.1 415 Unsupported\r\ncontent-length: 8\r\n\r\nnot this");
        socket.resetAndDestroy();
      });
    });
    const port = await front(await listen(inner));
    const head = `PUT /x HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${MIB}\r\nconnection: close\r\n\r\n`;
    const answer = await send(port, Buffer.concat([Buffer.from(head), Buffer.alloc(MIB, "x")]));
    expect(answer).toMatchObject({ status: 415, body: "not this" });
  });
});
