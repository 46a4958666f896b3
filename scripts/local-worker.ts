import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { settingNames } from "../src/edge/settings.ts";
import { startFront } from "./local-front.ts";

const root = join(import.meta.dirname, "..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

/**
 * Nothing is sent home; the explorer, which would show every object to anyone who reaches the port, is
 * off; and the Worker gets the settings file, not this process's environment.
 */
const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  X_LOCAL_EXPLORER: "false",
  CLOUDFLARE_INCLUDE_PROCESS_ENV: "false",
  NO_COLOR: "1",
  CI: "1",
};

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
}

export interface LocalWorker {
  readonly url: string;
  readonly exited: Promise<number>;
  stop(): Promise<void>;
}

/** The Worker on local workerd, answering; rejects with what wrangler said if it does not start. */
export async function startLocalWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { port, listen } = options;
  const ip = listen === "loopback" ? "127.0.0.1" : "0.0.0.0";
  await requireFree(port, ip);
  const innerPort = await freePort();
  const secret = randomBytes(32).toString("hex");
  const stateDir = resolve(options.stateDir);
  const envFile = writeEnvFile(stateDir, { ...options.settings, LOCAL_SECRET: secret });
  const child = spawn(
    process.execPath,
    [
      wrangler,
      "dev",
      `--port=${innerPort}`,
      "--ip=127.0.0.1",
      `--persist-to=${stateDir}`,
      `--env-file=${envFile}`,
      "--inspector-port=0",
      "--show-interactive-dev-session=false",
      "--log-level=log",
    ],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...WRANGLER_ENVIRONMENT },
    },
  );
  const said = collect(child);
  // Whatever ends this process, it leaves neither a server nor a file with keys behind.
  const cleanUp = (family = familyOf(child.pid)) => {
    for (const pid of family) kill(pid, "SIGKILL");
    rmSync(envFile, { force: true });
  };
  const onExit = () => cleanUp();
  process.once("exit", onExit);
  const exited = new Promise<number>((done) => {
    child.once("exit", (code) => {
      cleanUp();
      process.off("exit", onExit);
      done(code ?? 1);
    });
  });
  const stop = async () => {
    // Those that outlive wrangler would not be found any more.
    const family = familyOf(child.pid);
    child.kill("SIGTERM");
    const timer = setTimeout(() => cleanUp(family), 5_000);
    await exited;
    clearTimeout(timer);
    cleanUp(family);
  };
  options.signal?.addEventListener("abort", () => void stop(), { once: true });
  if (options.signal?.aborted === true) void stop();
  const isReady = await Promise.race([
    untilHealthy(`http://127.0.0.1:${innerPort}`),
    exited.then(() => false),
  ]);
  if (isReady) {
    const front = await startFront({ port, ip, innerPort, secret });
    void exited.then(() => closeFront(front));
    return { url: `http://localhost:${port}`, exited, stop };
  }
  await stop();
  throw new Error(`The local Worker did not start.\n${said()}`);
}

function closeFront(front: Server): void {
  front.close();
  front.closeAllConnections();
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
export function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => done(port));
    });
  });
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

function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-8_000);
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}

async function untilHealthy(url: string): Promise<boolean> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).catch(
      () => undefined,
    );
    if (response?.ok === true) return true;
    await new Promise((done) => setTimeout(done, 100));
  }
  return false;
}

/**
 * The process and all that it started. They share our process group, so that whoever kills that reaches
 * them too.
 */
function familyOf(root: number | undefined): readonly number[] {
  if (root === undefined) return [];
  const { stdout } = spawnSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" });
  const pairs = (stdout ?? "").split("\n").map((line) => line.trim().split(/ +/).map(Number));
  const family = [root];
  // The list grows while it is walked: children, then their children.
  for (const parent of family) {
    for (const [pid, ppid] of pairs) {
      if (pid !== undefined && ppid === parent && !family.includes(pid)) family.push(pid);
    }
  }
  return family;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has gone already.
  }
}
