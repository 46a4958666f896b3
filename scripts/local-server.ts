import { randomBytes, randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { settingNames } from "../src/edge/settings.ts";
import { startFront } from "./local-front.ts";
import { ensurePage } from "./page.ts";
import { startSideServer } from "./side-server.ts";
import { lockState } from "./state-lock.ts";
import { type Mark, spawnTied, type TiedProcess } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");
/** Below the range of ephemeral ports, which the system could assign before the server listens. */
const FIRST_PORT = 10_000;
const END_OF_PORTS = 32_768;

/**
 * The Worker receives wrangler's environment, so wrangler receives little of this process's. It sends no metrics. The
 * explorer, which would show every object to anyone who reaches the port, is off, and so is its store of traces.
 */
const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
  CLOUDFLARE_INCLUDE_PROCESS_ENV: "true",
  NO_COLOR: "1",
  CI: "1",
};
const PASSED = /^(?:PATH|HOME|TMPDIR|XDG_.*|CLOUDFLARE_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/;

interface LocalServerOptions {
  readonly port: number;
  /** The folder of objects and buckets. */
  readonly stateDir: string;
  /** Settings of the Worker; only names in `settings.ts` reach it. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** Stops the start-up, and the Worker afterwards. */
  readonly signal?: AbortSignal;
  /** Listens only on this machine's loopback address, or on every address. */
  readonly listen: "loopback" | "everywhere";
  /** Receives a line for each turn. Default: none. */
  readonly log?: (line: string) => void;
}

interface LocalServer {
  readonly url: string;
  /** The exit code, when nothing is left. */
  readonly exited: Promise<number>;
  stop(): Promise<unknown>;
}

/**
 * Starts `wrangler dev` and waits until the Worker responds. Rejects with wrangler's output if it does not start. Only
 * one server works on a state folder.
 */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { port, stateDir, settings, listen, signal } = options;
  const ip = listen === "loopback" ? "127.0.0.1" : "0.0.0.0";
  await requireFree(port, ip);
  const { mark, release } = await lockState(stateDir, port);
  await ensurePage();
  const side = await startSideServer(mark);
  const innerPort = await freePort();
  const secret = randomBytes(32).toString("hex");
  const local = { ...settings, LOCAL_SECRET: secret, LOCAL_SIDE: side.url };
  const wrangler = startWrangler({ ...options, settings: local }, innerPort, mark);
  const exited = wrangler.exited.then(async (code) => {
    side.close();
    await release();
    return code;
  });
  signal?.addEventListener("abort", () => void wrangler.stop());
  if (signal?.aborted === true) void wrangler.stop();
  const stop = () => wrangler.stop().then(() => exited);
  try {
    if (!(await isReady(innerPort, wrangler))) {
      throw new Error(`The local Worker did not start.\n${wrangler.lastOutput()}`);
    }
    const front = await startFront({ port, ip, innerPort, secret });
    const closed = exited.finally(() => {
      front.close();
      front.closeAllConnections();
    });
    return { url: `http://localhost:${port}`, exited: closed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** False if wrangler ends before the Worker responds. */
async function isReady(port: number, { child }: TiedProcess): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    if (response?.ok === true) return true;
    await wait(100);
  }
  return false;
}

function startWrangler(
  { stateDir, settings, log }: LocalServerOptions,
  port: number,
  mark: Mark,
): TiedProcess {
  const toml = readFileSync(join(root, "wrangler.toml"), "utf8");
  // Another Worker, or one without code, runs as it is configured.
  const isOwn = toml.includes('\nmain = "src/index.ts"') && toml.includes('\nbinding = "LOADER"');
  const parameters = [
    ...(isOwn ? ["scripts/local/worker.ts"] : []),
    `--port=${port}`,
    "--ip=127.0.0.1",
    `--persist-to=${resolve(stateDir)}`,
    // Not `.dev.vars`: settings are in the environment, which other users cannot read.
    "--env-file=/dev/null",
    "--inspector-port=0",
    "--show-interactive-dev-session=false",
    "--log-level=log",
  ];
  const own = Object.entries(process.env).filter(([name]) => PASSED.test(name));
  const given = [...settingNames, "LOCAL_SIDE"]
    .map((name) => [name, settings[name]])
    .filter(([, value]) => value !== undefined && value !== "");
  const env = { ...Object.fromEntries([...own, ...given]), ...WRANGLER_ENVIRONMENT, ...mark };
  const program = join(root, "node_modules/wrangler/bin/wrangler.js");
  const started = spawnTied([process.execPath, program, "dev", ...parameters], {
    cwd: root,
    outputs: ["pipe", "pipe"],
    env,
  });
  // Forwards the Worker's events, without colours. Other output is wrangler's own.
  for (const input of [started.child.stdout, started.child.stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      const [event] = /\{"event":.*\}/.exec(line) ?? [];
      if (event !== undefined) log?.(event);
    });
  }
  return started;
}

/** Rejects if another server uses the port, because that would respond instead. */
function requireFree(port: number, ip: string): Promise<void> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", ({ code, message }: NodeJS.ErrnoException) => {
      const reason = code === "EADDRINUSE" ? "it is in use" : message;
      fail(new Error(`Port ${port} cannot be used: ${reason}. Set PORT to another one.`));
    });
    server.listen(port, ip, () => server.close(() => done()));
  });
}

/** Finds a free port on the loopback address. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, END_OF_PORTS);
    const isFree = await requireFree(port, "127.0.0.1").then(
      () => true,
      () => false,
    );
    if (isFree) return port;
  }
}
