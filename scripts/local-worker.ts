import { randomBytes, randomInt } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { settingNames } from "../src/edge/settings.ts";
import { startFront } from "./local-front.ts";
import { ensurePage } from "./page.ts";
import { Supervisor } from "./supervisor.ts";
import { startWrangler } from "./wrangler-process.ts";

/** Below those that a system gives to connections: one of these could be taken before somebody listens. */
const FIRST_PORT = 10_000;
const END_OF_PORTS = 32_768;

export interface LocalWorkerOptions {
  readonly port: number;
  /** Where objects and buckets are kept. */
  readonly stateDir: string;
  /** Settings of the Worker; only those that are named in `settings.ts` reach it. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** Stops the start-up, and the Worker afterwards. */
  readonly signal?: AbortSignal;
  /** Listens on this machine's loopback address only, or on every address. */
  readonly listen: "loopback" | "everywhere";
  /** Told in a line of each turn, and when the Worker is restarted. Default: nobody is. */
  readonly say?: (line: string) => void;
}

export interface LocalWorker {
  readonly url: string;
  readonly exited: Promise<number>;
  stop(): Promise<void>;
}

/**
 * The Worker on local workerd, answering; rejects with what wrangler said if it does not start. If it stops
 * answering it is restarted on the same state: the listener in front stays, and answers 503 meanwhile.
 */
export async function startLocalWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { port, listen, say = () => undefined } = options;
  const ip = listen === "loopback" ? "127.0.0.1" : "0.0.0.0";
  await requireFree(port, ip);
  ensurePage();
  const innerPort = await freePort();
  const secret = randomBytes(32).toString("hex");
  const stateDir = resolve(options.stateDir);
  const envFile = writeEnvFile(stateDir, { ...options.settings, LOCAL_SECRET: secret });
  const start = () => startWrangler({ port: innerPort, stateDir, envFile, say });
  const supervisor = new Supervisor({ start, url: `http://127.0.0.1:${innerPort}/health`, say });
  const removeEnvFile = () => rmSync(envFile, { force: true });
  // Whatever ends this process, it leaves neither a server nor a file with keys behind.
  const onExit = () => {
    supervisor.current.kill();
    removeEnvFile();
  };
  process.once("exit", onExit);
  const stop = async () => {
    await supervisor.stop();
    removeEnvFile();
  };
  options.signal?.addEventListener("abort", () => void stop(), { once: true });
  if (options.signal?.aborted === true) void stop();
  if (!(await supervisor.ready())) {
    await stop();
    process.off("exit", onExit);
    throw new Error(`The local Worker did not start.\n${supervisor.current.said()}`);
  }
  const front = await startFront({ port, ip, innerPort, secret, isUp: () => supervisor.isUp });
  const exited = supervisor.watch().finally(() => {
    process.off("exit", onExit);
    removeEnvFile();
    closeFront(front);
  });
  return { url: `http://localhost:${port}`, exited, stop };
}

function closeFront(front: Server): void {
  front.close();
  front.closeAllConnections();
}

/** With the demo model, on a state of its own, which goes when it stops. */
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

/** Another server on the port would answer in our place. */
function requireFree(port: number, ip: string): Promise<void> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", (error) =>
      fail(new Error(`Port ${port} cannot be used: ${error.message}`)),
    );
    server.listen(port, ip, () => server.close(() => done()));
  });
}

/** A port of the loopback address that nobody listens on. */
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

/** Readable by the owner alone: command lines, where `--var` would put keys, are not. */
function writeEnvFile(stateDir: string, settings: LocalWorkerOptions["settings"]): string {
  mkdirSync(stateDir, { recursive: true });
  const path = join(stateDir, `settings-${process.pid}-${Date.now()}.env`);
  const lines = settingNames.flatMap((name) => {
    const value = settings[name];
    return value === undefined || value === "" ? [] : [`${name}=${quoted(name, value)}`];
  });
  writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
  return path;
}

/** As dotenv reads it: any of three quotes, no escapes but for a dollar, which it would expand. */
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
