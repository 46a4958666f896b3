import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { nodeQueryEngine } from "../packages/adapters/src/agent/node-query-engine.ts";
import { messageOf } from "../src/errors.ts";
import * as limits from "../src/limits.ts";
import { callEngine, type QueryEngine } from "../packages/query/src/query-engine.ts";
import { Recent } from "../src/value/recent.ts";
import { type Mark, spawnTied } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");

/** The file descriptor on which workerd reports its port. */
const CONTROL = 3;
/** The system ends a process that has used so much CPU, as Cloudflare ends an isolate. */
const LIMITED = `ulimit -t ${limits.codeCpuMs / 1_000}; exec "$@"`;

/** Databases that are open at once. The one that was used least recently is dropped; its tables are loaded again. */
const MAX_OPEN = 100;

/**
 * Serves on the loopback address what local workerd cannot interrupt. `/code` starts a process for one run of code,
 * and answers with its URL; the process lives until either side closes that answer. `/queries/<database>/<method>`
 * calls a `QueryEngine`, whose process can be killed. Returns the URL for `local/worker.ts`, which contains a secret.
 */
export async function startSideServer(mark: Mark): Promise<string> {
  // Each run ends with this process.
  process.setMaxListeners(0);
  const secret = randomBytes(32).toString("hex");
  const engines = new Recent<QueryEngine>(MAX_OPEN);
  const server = createServer((request, response) => {
    const [, given, what, name = "", method = ""] = (request.url ?? "").split("/");
    if (given !== secret) response.writeHead(404).end();
    else if (what === "code") startRun(secret, mark, response);
    else if (what === "queries" && isMethod(method))
      void answerQuery(engines.use(name, nodeQueryEngine), method, request, response);
    else response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`;
}

/** Starts workerd with a Worker Loader and nothing else. It may be killed at any time. */
function startRun(secret: string, mark: Mark, response: ServerResponse): void {
  const workerd = join(root, "node_modules/workerd/bin/workerd");
  const places = ["--socket-addr=http=127.0.0.1:0", `--control-fd=${CONTROL}`];
  const config = join(root, "scripts/local/sandbox.capnp");
  const command = [workerd, "serve", "--experimental", ...places, config];
  const { child, exited, kill } = spawnTied(["/bin/sh", "-c", LIMITED, "sh", ...command], {
    env: { ...mark, SECRET: secret },
    outputs: ["pipe", "pipe", "pipe"],
  });
  response.once("close", kill);
  void exited.then(() => response.end());
  (child.stdio[CONTROL] as Readable).setEncoding("utf8").on("data", (text: string) => {
    const port = /"port":\s*(\d+)/.exec(text)?.[1];
    if (port !== undefined) response.write(`http://127.0.0.1:${port}/${secret}`);
  });
}

function isMethod(name: string): name is keyof QueryEngine {
  return ["run", "add", "keep"].includes(name);
}

async function answerQuery(
  engine: QueryEngine,
  method: keyof QueryEngine,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    // Written by `local/worker.ts`.
    const input = JSON.parse(await text(request)) as readonly unknown[];
    response.end(JSON.stringify({ output: await callEngine(engine, method, input) }));
  } catch (error) {
    response.writeHead(500).end(messageOf(error));
  }
}
