import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../scripts/local-server.ts";
import { type PlainServer, startPlain, stop } from "../support/plain-server.ts";
import { temporaryFolder } from "../support/server.ts";

const BYTES = 100_000_000;
const MIB = 1_048_576;
const key = "acme-key-0123456789";
const stateDir = temporaryFolder();
const piece = Buffer.alloc(65_536, " ");

let server: PlainServer;
let port: number;
let pid: number;

beforeAll(async () => {
  port = await freePort();
  const env = {
    PORT: String(port),
    STATE_DIR: stateDir,
    AUTH: "bearer",
    API_KEYS: JSON.stringify({ [key]: "acme" }),
  };
  server = startPlain(env);
  if ((await server.url) === undefined) throw new Error(server.output());
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(server.child.pid)]);
  pid = Number(children.toString().trim());
  // Memory that a Worker needs for its first requests is not counted.
  for (let times = 0; times < 50; times++) await send("POST", "/conversations", { length: 2_000 });
});

afterAll(async () => {
  if (server !== undefined) await stop(server);
  rmSync(stateDir, { recursive: true, force: true });
});

interface Body {
  /** The declared length in bytes. Default: the body is sent in chunks. */
  readonly length?: number;
  /** The number of bytes to send, if it differs. */
  readonly sent?: number;
}

/** Sends a body. Returns the status of the answer, or 0 if the connection closed without one. */
function send(method: string, path: string, { length, sent = length }: Body): Promise<number> {
  const framing = length === undefined ? "transfer-encoding: chunked" : `content-length: ${length}`;
  const head = [
    `${method} ${path} HTTP/1.1`,
    "host: localhost",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    framing,
    "",
    "",
  ].join("\r\n");
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    const end = () => {
      socket.destroy();
      done(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0));
    };
    socket.on("data", (bytes) => {
      answer += bytes.toString();
      if (answer.includes("\r\n\r\n")) end();
    });
    socket.on("error", end).on("close", end);
    socket.write(head);
    let left = sent ?? BYTES;
    const go = () => {
      while (left > 0 && !socket.destroyed) {
        const part = piece.subarray(0, Math.min(left, piece.length));
        left -= part.length;
        if (length === undefined) socket.write(`${part.length.toString(16)}\r\n`);
        const isReady = socket.write(part);
        if (length === undefined) socket.write("\r\n");
        if (!isReady) return void socket.once("drain", go);
      }
      if (length === undefined) socket.write("0\r\n\r\n");
    };
    go();
  });
}

/** Memory in use, and how far its peak from now on exceeds it, in bytes. */
function peak(): { readonly nowBytes: number; readonly extra: () => number } {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const read = (name: string) => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return 1_024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  };
  const nowBytes = read("VmRSS");
  return { nowBytes, extra: () => read("VmHWM") - nowBytes };
}

const ways = [
  ["POST", "/conversations"],
  ["POST", "/conversations/c/messages"],
  ["PUT", "/conversations/c/variables/v"],
  ["POST", "/conversations/import"],
] as const;

it.each<readonly [what: string, body: Body]>([
  ["declared", { length: BYTES, sent: 0 }],
  ["declared and sent in full", { length: BYTES }],
  ["declared but sent in part", { length: BYTES, sent: 1_000 }],
  ["in chunks", {}],
])("a body of 100 MB, %s, is refused", async (_, body) => {
  for (const [method, path] of ways) {
    const { extra } = peak();
    const status = await send(method, path, body);
    const extraMiB = extra() / MIB;
    // A client that still sends when the connection closes may not receive the answer.
    const isHungUp = body.sent === undefined && status === 0;
    expect([path, status]).toEqual([path, isHungUp ? 0 : 413]);
    // The memory of a whole isolate.
    expect(extraMiB).toBeLessThan(128);
  }
});
