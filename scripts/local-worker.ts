import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { settingNames } from "../src/edge/settings.ts";

const root = join(import.meta.dirname, "..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

export interface LocalWorkerOptions {
  readonly port: number;
  /** Where objects and buckets are kept. */
  readonly stateDir: string;
  /** Settings of the Worker; only those that are named in `settings.ts` reach it. */
  readonly settings: Readonly<Record<string, string | undefined>>;
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
  const stateDir = resolve(options.stateDir);
  const envFile = writeEnvFile(stateDir, options.settings);
  const child = spawn(
    process.execPath,
    [
      wrangler,
      "dev",
      `--port=${port}`,
      `--ip=${listen === "loopback" ? "127.0.0.1" : "0.0.0.0"}`,
      `--persist-to=${stateDir}`,
      `--env-file=${envFile}`,
      "--inspector-port=0",
      "--show-interactive-dev-session=false",
      "--log-level=log",
    ],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own, so that workerd can be stopped together with wrangler.
      detached: true,
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1", CI: "1" },
    },
  );
  const said = collect(child);
  const exited = new Promise<number>((done) => {
    child.once("exit", (code) => {
      rmSync(envFile, { force: true });
      done(code ?? 1);
    });
  });
  const stop = async () => {
    killGroup(child, "SIGTERM");
    const timer = setTimeout(() => killGroup(child, "SIGKILL"), 5_000);
    await exited;
    clearTimeout(timer);
    killGroup(child, "SIGKILL");
  };
  const url = `http://localhost:${port}`;
  const isReady = await Promise.race([
    untilHealthy(`http://127.0.0.1:${port}`),
    exited.then(() => false),
  ]);
  if (isReady) return { url, exited, stop };
  await stop();
  throw new Error(`The local Worker did not start.\n${said()}`);
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
  if (quote === undefined || /[\r\n]/.test(value)) {
    throw new Error(
      `${name} holds a line break or all three kinds of quotes, which an env file cannot.`,
    );
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

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has gone already.
  }
}
