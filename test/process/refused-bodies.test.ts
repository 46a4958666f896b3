import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Server, startServer } from "../support/server.ts";
import { slow } from "../support/slow.ts";

const MIB = 1_048_576;
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
}

/** Uploads a body, and returns the head and the body of the answer; empty if there was none. */
function answerTo(upload: Upload): Promise<string> {
  const { method = "PUT", place = "c/variables/v", type = "text/plain", mib } = upload;
  const framing =
    upload.isChunked === true ? "transfer-encoding: chunked" : `content-length: ${mib * MIB}`;
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  const isWhole = () => /"code":"\w+"\}/.test(answer);
  socket.on("data", (bytes) => {
    answer += bytes.toString();
    if (isWhole()) resolve(answer);
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
  ["a message", { method: "POST", place: "c/messages", mib: 40, type: "application/json" }],
  [
    "a message in chunks",
    { method: "POST", place: "c/messages", mib: 40, type: "application/json", isChunked: true },
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
