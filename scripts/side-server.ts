import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import * as limits from "../src/limits.ts";
import { builtOnce } from "./built.ts";
import { type Mark, spawnTied } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");
const local = join(root, "scripts/local");

/** The file descriptor on which workerd reports its port. */
const CONTROL = 3;
/** The system ends a process that has used so much CPU, as Cloudflare ends an isolate. */
const LIMITED = `ulimit -t ${limits.codeCpuMs / 1_000}; exec "$@"`;

export interface SideServer {
  /** For `scripts/local/worker.ts`: it contains a secret. */
  readonly url: string;
  close(): void;
}

/**
 * Serves on the loopback address what local workerd cannot interrupt. `/code` starts a process for one run of code,
 * and answers with its URL; the process lives until either side closes that answer.
 */
export async function startSideServer(mark: Mark): Promise<SideServer> {
  const folder = await builtOnce("sandbox", ["scripts/local"], (made) => {
    const source = readFileSync(join(local, "sandbox.ts"), "utf8");
    writeFileSync(join(made, "sandbox.js"), stripTypeScriptTypes(source));
    copyFileSync(join(local, "sandbox.capnp"), join(made, "sandbox.capnp"));
  });
  // Each run ends with this process.
  process.setMaxListeners(0);
  const secret = randomBytes(32).toString("hex");
  const server = createServer((request, response) => {
    if (request.url === `/${secret}/code`) startRun({ folder, secret, mark }, response);
    else response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`, close };
}

interface RunOptions {
  readonly folder: string;
  readonly secret: string;
  readonly mark: Mark;
}

/** Starts workerd with a Worker Loader and nothing else. It may be killed at any time. */
function startRun({ folder, secret, mark }: RunOptions, response: ServerResponse): void {
  const workerd = join(root, "node_modules/workerd/bin/workerd");
  const places = ["--socket-addr=http=127.0.0.1:0", `--control-fd=${CONTROL}`];
  const command = [workerd, "serve", "--experimental", ...places, join(folder, "sandbox.capnp")];
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
