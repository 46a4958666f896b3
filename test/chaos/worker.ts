import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unstable_getMiniflareWorkerOptions } from "wrangler";

const root = join(import.meta.dirname, "../..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

export interface ChaosWorker {
  readonly url: string;
  /** Milliseconds from the start of the process until it listened. */
  readonly startMs: number;
  /** All of its processes at once, without a warning; resolves when none is left. */
  kill(): Promise<void>;
}

interface BundleOptions {
  /** A wrangler.toml, from the project's root. Default: that of the Worker as it would be deployed. */
  readonly config?: string;
  readonly bindings?: Readonly<Record<string, string>>;
}

/** The Worker in one module, and how Miniflare is to run it on `stateDir`; the file of that. */
export function bundleWorker(
  stateDir: string,
  { config = "wrangler.toml", bindings = { AUTH: "none", MODEL: "demo" } }: BundleOptions = {},
): string {
  const folder = join(stateDir, "bundle");
  mkdirSync(folder, { recursive: true });
  const parameters = ["deploy", "--dry-run", `--config=${config}`, `--outdir=${folder}`];
  execFileSync(process.execPath, [wrangler, ...parameters], {
    cwd: root,
    stdio: "pipe",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  const { main = "src/index.ts", workerOptions } = unstable_getMiniflareWorkerOptions(
    join(root, config),
  );
  // The bundle is one module.
  const { modulesRules: _, ...worker } = workerOptions;
  const options = {
    host: "127.0.0.1",
    port: 0,
    cf: false,
    resourcePersistencePath: join(stateDir, "v3"),
    workers: [
      {
        ...worker,
        name: "byref",
        rootPath: folder,
        modules: true,
        scriptPath: `${basename(main, ".ts")}.js`,
        bindings,
      },
    ],
  };
  const path = join(folder, "options.json");
  writeFileSync(path, JSON.stringify(options));
  return path;
}

/** The same Worker with these bindings beside its own; the file of that. */
export function withBindings(path: string, more: Readonly<Record<string, string>>): string {
  // `bundleWorker` wrote it.
  const options = JSON.parse(readFileSync(path, "utf8")) as {
    workers: readonly { bindings: Readonly<Record<string, string>> }[];
  };
  const workers = options.workers.map((worker) => ({
    ...worker,
    bindings: { ...worker.bindings, ...more },
  }));
  const changed = path.replace(/\.json$/, "-changed.json");
  writeFileSync(changed, JSON.stringify({ ...options, workers }));
  return changed;
}

/** Starts what `bundleWorker` made, on the state that is there; what it says goes to `server.log`. */
export async function startWorker(stateDir: string, options: string): Promise<ChaosWorker> {
  const startedMs = performance.now();
  const log = openSync(join(stateDir, "server.log"), "a");
  const child = spawn(process.execPath, [join(import.meta.dirname, "worker-process.ts"), options], {
    // A group of its own, of which workerd will be.
    detached: true,
    stdio: ["pipe", "pipe", log],
    env: { ...process.env, NODE_COMPILE_CACHE: join(stateDir, "bundle/cache") },
  });
  closeSync(log);
  const onExit = () => killGroup(child.pid);
  process.once("exit", onExit);
  let isKilled = false;
  const kill = async () => {
    // Its number may be another's by now.
    if (isKilled) return;
    isKilled = true;
    process.off("exit", onExit);
    killGroup(child.pid);
    await untilGone(child.pid);
  };
  const url = await readyUrl(child);
  if (url !== undefined) return { url, startMs: performance.now() - startedMs, kill };
  await kill();
  throw new Error(`The Worker did not start; see ${join(stateDir, "server.log")}.`);
}

/** Undefined if it ends before. */
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
    // It has gone already.
  }
}

async function untilGone(group: number | undefined): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (!isRunning(group)) return;
    await sleep(10);
  }
  throw new Error(`Process group ${group} outlives SIGKILL.`);
}

/** A process that ended but that nobody has waited for does not run. */
function isRunning(group: number | undefined): boolean {
  return execFileSync("ps", ["-A", "-o", "pgid=,stat="])
    .toString()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .some(([pgid, stat = "Z"]) => Number(pgid) === group && !stat.startsWith("Z"));
}
