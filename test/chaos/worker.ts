import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { builtOnce, SOURCES } from "../../scripts/built.ts";

const root = join(import.meta.dirname, "../..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

export interface ChaosWorker {
  readonly url: string;
  /** Milliseconds from the start of the process until it listened. */
  readonly startMs: number;
  /** Kills all of its processes at once, with SIGKILL. Resolves when none is left. */
  kill(): Promise<void>;
}

interface BundleOptions {
  /** Path of a wrangler.toml from the project's root. Default: the configuration for deployment. */
  readonly config?: string;
  readonly bindings?: Readonly<Record<string, string>>;
  /** Default: one that is free at each start. */
  readonly port?: number;
}

/**
 * Returns the path of the Miniflare options that run a Worker on `stateDir`. Its bundle is one module, and is made
 * once for all runs on the same sources.
 */
export async function bundleWorker(stateDir: string, options: BundleOptions = {}): Promise<string> {
  const {
    config = "wrangler.toml",
    port = 0,
    bindings = { AUTH: "none", MODEL: "demo" },
  } = options;
  const name = `worker-${config.replaceAll(/\W/g, "-")}`;
  const own = config.includes("/") ? dirname(config) : config;
  const sources = [
    ...SOURCES,
    "examples/agents",
    "examples/demo-model",
    "test/chaos/worker.ts",
    own,
  ];
  const rootPath = await builtOnce(name, sources, (folder) => bundle(config, folder));
  // Written by `bundle`.
  const worker = JSON.parse(readFileSync(join(rootPath, "worker.json"), "utf8")) as object;
  const path = join(stateDir, "options.json");
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(
    path,
    JSON.stringify({
      host: "127.0.0.1",
      port,
      cf: false,
      resourcePersistencePath: join(stateDir, "v3"),
      workers: [{ ...worker, name: "byref", rootPath, modules: true, bindings }],
    }),
  );
  return path;
}

/** Writes the bundle, and the options for it that follow from its configuration. */
async function bundle(config: string, folder: string): Promise<void> {
  const parameters = ["deploy", "--dry-run", `--config=${config}`, `--outdir=${folder}`];
  execFileSync(process.execPath, [wrangler, ...parameters], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  const { unstable_getMiniflareWorkerOptions: optionsOf } = await import("wrangler");
  const { main = "src/index.ts", workerOptions } = optionsOf(join(root, config));
  // The bundle is one module.
  const { modulesRules: _, ...worker } = workerOptions;
  const scriptPath = `${basename(main, ".ts")}.js`;
  writeFileSync(join(folder, "worker.json"), JSON.stringify({ ...worker, scriptPath }));
}

/** Starts a bundled Worker on the existing state. Its output is logged to `server.log`. */
export async function startWorker(stateDir: string, options: string): Promise<ChaosWorker> {
  const startedMs = performance.now();
  const log = openSync(join(stateDir, "server.log"), "a");
  const program = join(import.meta.dirname, "worker-process.ts");
  const child = spawn(process.execPath, [program, options], {
    // A process group of its own, which workerd joins.
    detached: true,
    stdio: ["pipe", "pipe", log],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/byref/compiled") },
  });
  closeSync(log);
  child.stdout?.on("data", (chunk: Buffer) => appendFileSync(join(stateDir, "server.log"), chunk));
  const onExit = () => killGroup(child.pid);
  process.once("exit", onExit);
  let isKilled = false;
  const kill = async () => {
    // After the kill, another process may get the same id.
    if (isKilled) return;
    isKilled = true;
    process.off("exit", onExit);
    killGroup(child.pid);
    await untilGone(child.pid);
    // The folder of the log may be deleted now.
    child.stdout?.destroy();
  };
  const url = await readyUrl(child);
  if (url !== undefined) return { url, startMs: performance.now() - startedMs, kill };
  await kill();
  throw new Error(`The Worker did not start; see ${join(stateDir, "server.log")}.`);
}

/** Resolves to undefined if the process ends first. */
function readyUrl(child: ChildProcess): Promise<string | undefined> {
  return new Promise((done) => {
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const url = /^ready (\S+)$/m.exec(said)?.[1];
      if (url !== undefined) done(url);
    });
    child.once("close", () => done(undefined));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

async function untilGone(group: number | undefined): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (!isRunning(group)) return;
    await sleep(10);
  }
  throw new Error(`Process group ${group} outlives SIGKILL.`);
}

/** Zombie processes do not count as running. */
function isRunning(group: number | undefined): boolean {
  return execFileSync("ps", ["-A", "-o", "pgid=,stat="])
    .toString()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .some(([pgid, stat = "Z"]) => Number(pgid) === group && !stat.startsWith("Z"));
}
