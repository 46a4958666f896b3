import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Server, startServer } from "../support/server.ts";
import { slow } from "../support/slow.ts";

const MIB = 1_048_576;
const JSON_TYPE = "application/json";
const piece = Buffer.alloc(MIB, " ");

let server: Server;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server?.stop());

interface Upload {
  readonly method?: string;
  readonly place?: string;
  readonly type?: string;
  readonly mib: number;
  readonly atOnce?: number;
  /** Sends the body in chunks, without its length. */
  readonly isChunked?: boolean;
  /** What the client does with the rest of its body. Default: it sends all of it, whatever it receives. */
  readonly rest?: "kept back" | "ended when answered";
  /** Asks for something else on the same connection, after the whole body. */
  readonly goesOn?: boolean;
}

const NEXT = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

/** Uploads a body, and returns the heads and bodies of the answers; empty if there was none. */
function answerTo(upload: Upload): Promise<string> {
  const { method = "PUT", place = "c/variables/v", type = "text/plain", mib } = upload;
  const framing =
    upload.isChunked === true ? "transfer-encoding: chunked" : `content-length: ${mib * MIB}`;
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  const isWhole = () => /"code":"\w+"\}/.test(answer);
  let isSent = false;
  const goOn = () => {
    if (upload.goesOn === true && isSent && isWhole() && !socket.destroyed) socket.write(NEXT);
  };
  socket.on("data", (bytes) => {
    const wasWhole = isWhole();
    answer += bytes.toString();
    if (!wasWhole) goOn();
    if (upload.goesOn === true ? /"ok":true/.test(answer) : isWhole()) resolve(answer);
    if (isWhole() && upload.rest === "ended when answered") socket.destroy();
  });
  socket.on("error", () => resolve(answer)).on("close", () => resolve(answer));
  socket.write(
    `${method} /conversations/${place} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: ${type}\r\n${framing}\r\n\r\n`,
  );
  let left = upload.rest === "kept back" ? 1 : mib;
  const send = () => {
    while (left > 0 && !socket.destroyed) {
      left--;
      if (upload.isChunked === true) socket.write(`${piece.length.toString(16)}\r\n`);
      socket.write(piece);
      const isReady = upload.isChunked === true ? socket.write("\r\n") : !socket.writableNeedDrain;
      if (!isReady) return void socket.once("drain", send);
    }
    if (upload.isChunked === true && !socket.destroyed) socket.write("0\r\n\r\n");
    isSent = true;
    goOn();
  };
  send();
  return promise.finally(() => socket.destroy());
}

it.each<readonly [what: string, upload: Upload]>([
  ["declared", { mib: 100 }],
  ["declared and kept back", { mib: 100, rest: "kept back" }],
  ["declared and ended when it is answered", { mib: 100, rest: "ended when answered" }],
  // What is not declared is received up to the limit: two of them take long enough.
  ["in chunks", { mib: 96, isChunked: true, atOnce: 2 }],
  ["a file", { mib: 100, place: "c/files/f" }],
  ["bytes", { mib: 100, type: "image/png" }],
  ["JSON, declared", { mib: 17, type: JSON_TYPE }],
  ["JSON in chunks", { mib: 17, type: JSON_TYPE, isChunked: true }],
  ["JSON of twice the size", { mib: 40, type: JSON_TYPE }],
  ["JSON of twice the size in chunks", { mib: 40, type: JSON_TYPE, isChunked: true }],
  [
    "JSON that is ended when it is answered",
    { mib: 90, type: JSON_TYPE, rest: "ended when answered" },
  ],
  ["JSON that is appended", { mib: 40, type: JSON_TYPE, place: "c/variables/v?mode=append" }],
  ["a message", { method: "POST", place: "c/messages", mib: 40, type: JSON_TYPE }],
  [
    "a message in chunks",
    { method: "POST", place: "c/messages", mib: 40, type: JSON_TYPE, isChunked: true },
  ],
  [
    "a part of an import",
    { method: "POST", place: "import", mib: 100, type: "application/x-ndjson" },
  ],
])(
  "uploads that are too large, at once, are each answered with 413 and the problem: %s",
  slow,
  async (_, upload) => {
    const answers = await Promise.all(
      Array.from({ length: upload.atOnce ?? 8 }, () => answerTo(upload)),
    );
    const told = answers.map((answer) => {
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? [];
      const [, code] = /"code":"(\w+)"/.exec(answer) ?? [];
      return `${status} ${code}`;
    });
    expect(told).toEqual(answers.map(() => "413 body_too_large"));
  },
);

it.each<readonly [what: string, upload: Upload]>([
  ["a text, declared", { mib: 100 }],
  ["a text in chunks", { mib: 97, isChunked: true }],
  ["JSON, declared", { mib: 40, type: JSON_TYPE }],
  ["JSON in chunks", { mib: 40, type: JSON_TYPE, isChunked: true }],
  ["a message", { method: "POST", place: "c/messages", mib: 40, type: JSON_TYPE }],
])(
  "after such an upload the next request on the connection is answered, or the connection is closed: %s",
  slow,
  async (_, upload) => {
    const answers = await Promise.all([1, 2].map(() => answerTo({ ...upload, goesOn: true })));
    for (const answer of answers) {
      const statuses = Array.from(answer.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
      expect(statuses.length === 1 ? ["413"] : ["413", "200"]).toEqual(statuses);
    }
  },
);
