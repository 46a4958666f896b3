import { randomBytes, randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { settingNames } from "../src/edge/settings.ts";
import { DiskReserve } from "./disk-reserve.ts";
import { startFront } from "./local-front.ts";
import { ownConfig } from "./own-config.ts";
import { copyPage } from "./page.ts";
import type { Mark } from "./processes.ts";
import { serveQueries } from "./query-server.ts";
import { superviseSandbox } from "./sandbox-process.ts";
import { lockState } from "./state-lock.ts";
import { WORKER_LIMITS, Supervisor } from "./supervisor.ts";
import { startWrangler } from "./wrangler-process.ts";

/** Below the range of ephemeral ports, which the system could assign before the server listens. */
const FIRST_PORT = 10_000;
const END_OF_PORTS = 32_768;
const DISK_CHECK_MS = 250;

export interface LocalWorkerOptions {
  readonly port: number;
  /** The folder of objects and buckets. */
  readonly stateDir: string;
  /** Settings of the Worker; only names in `settings.ts` reach it. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** Stops the start-up, and the Worker afterwards. */
  readonly signal?: AbortSignal;
  /** Listens only on this machine's loopback address, or on every address. */
  readonly listen: "loopback" | "everywhere";
  /** Receives a line for each turn and each restart of the Worker. Default: none. */
  readonly log?: (line: string) => void;
}

export interface LocalWorker {
  readonly url: string;
  readonly exited: Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts the Worker on local workerd and waits until it responds. Rejects with wrangler's output if it does
 * not start. A Worker that stops responding is restarted on the same state; the listener in front stays, and
 * responds with 503 meanwhile.
 */
export async function startLocalWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { stateDir, port, log = () => undefined } = options;
  // First: everything else needs space.
  const reserve = new DiskReserve(stateDir, log);
  const checks = setInterval(() => reserve.isFull(), DISK_CHECK_MS).unref();
  const lock = await lockState(stateDir, port);
  const release = () => {
    clearInterval(checks);
    lock.release();
  };
  try {
    const worker = await startOn(lock.mark, reserve, options);
    return { ...worker, exited: worker.exited.finally(release) };
  } catch (error) {
    release();
    throw error;
  }
}

async function startOn(
  mark: Mark,
  reserve: DiskReserve,
  options: LocalWorkerOptions,
): Promise<LocalWorker> {
  const { port, listen, signal, log = () => undefined } = options;
  const ip = listen === "loopback" ? "127.0.0.1" : "0.0.0.0";
  await requireFree(port, ip);
  const stateDir = resolve(options.stateDir);
  const { runsOwnWorker, servesOwnPage } = ownConfig();
  const assets = servesOwnPage ? join(stateDir, "page") : undefined;
  if (assets !== undefined) copyPage(assets);
  const innerPort = await freePort();
  const secret = randomBytes(32).toString("hex");
  const sandbox = runsOwnWorker ? await startSandbox(stateDir, mark, log) : undefined;
  const queries = runsOwnWorker ? await serveQueries(await freePort()) : undefined;
  const local = {
    LOCAL_SECRET: secret,
    LOCAL_SANDBOX: sandbox?.url,
    LOCAL_QUERIES: queries?.url,
  };
  const envFile = {
    path: join(stateDir, `settings-${process.pid}.env`),
    text: envTextOf({ ...options.settings, ...local }),
  };
  const main = sandbox === undefined ? undefined : "scripts/local/worker.ts";
  let bytes = 0;
  const worker = new Supervisor({
    name: "Worker",
    restart: "it is restarted on the same state",
    start: () => startWrangler({ port: innerPort, stateDir, envFile, main, assets, mark, log }),
    url: `http://127.0.0.1:${innerPort}/health`,
    limits: WORKER_LIMITS,
    bytes: () => bytes,
    log,
  });
  const all = sandbox === undefined ? [worker] : [worker, sandbox.supervisor];
  const stop = async () => {
    await Promise.all(all.map((one) => one.stop()));
    queries?.close();
  };
  signal?.addEventListener("abort", () => void stop(), { once: true });
  if (signal?.aborted === true) void stop();
  const isUp = () => worker.isUp;
  const isFull = () => reserve.isFull();
  const onBytes = (count: number) => {
    bytes += count;
  };
  try {
    await ready(all);
    const front = await startFront({ port, ip, innerPort, secret, isUp, isFull, onBytes });
    void sandbox?.supervisor.watch();
    const exited = worker.watch().finally(async () => {
      await stop();
      closeFront(front);
    });
    return { url: `http://localhost:${port}`, exited, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startSandbox(stateDir: string, mark: Mark, log: (line: string) => void) {
  const folder = join(stateDir, "sandbox");
  return superviseSandbox({ folder, port: await freePort(), mark, log });
}

/** Waits until all of them respond, or rejects with their output. */
async function ready(all: readonly Supervisor[]): Promise<void> {
  const areReady = await Promise.all(all.map((one) => one.ready()));
  if (areReady.every(Boolean)) return;
  throw new Error(`The local Worker did not start.\n${all.map(({ failure }) => failure).join("")}`);
}

function closeFront(front: Server): void {
  front.close();
  front.closeAllConnections();
}

/** Starts a Worker with the demo model and its own state, which is deleted when it stops. */
export async function startDemoWorker(): Promise<LocalWorker> {
  const stateDir = mkdtempSync(join(tmpdir(), "byref-demo-"));
  const worker = await startLocalWorker({
    port: await freePort(),
    stateDir,
    settings: { AUTH: "none", MODEL: "demo" },
    listen: "loopback",
  });
  const stop = async () => {
    await worker.stop();
    rmSync(stateDir, { recursive: true, force: true });
  };
  return { ...worker, stop };
}

/** Rejects if another server uses the port, because that would respond instead. */
function requireFree(port: number, ip: string): Promise<void> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", (error) =>
      fail(new Error(`Port ${port} cannot be used: ${reasonOf(error)}. Set PORT to another one.`)),
    );
    server.listen(port, ip, () => server.close(() => done()));
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === "EADDRINUSE" ? "it is in use" : message;
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

/** The settings file. A file is used instead of `--var`, because all users can read command lines. */
function envTextOf(settings: LocalWorkerOptions["settings"]): string {
  const lines = [...settingNames, "LOCAL_SANDBOX", "LOCAL_QUERIES"].flatMap((name) => {
    const value = settings[name];
    return value === undefined || value === "" ? [] : [`${name}=${quoted(name, value)}`];
  });
  return `${lines.join("\n")}\n`;
}

/**
 * Quotes a value for dotenv: one of three quotes, and no escapes except for a dollar, which dotenv would
 * expand.
 */
function quoted(name: string, value: string): string {
  const quote = ["'", "`", '"'].find((candidate) => !value.includes(candidate));
  // Between double quotes dotenv reads a backslash and an n as a line break.
  const isKept =
    quote !== undefined && !value.includes("\r") && !(quote === '"' && value.includes("\\"));
  if (!isKept) {
    throw new Error(`${name} holds quotes and backslashes that an env file cannot hold together.`);
  }
  return quote + value.replaceAll("$", "\\$") + quote;
}
