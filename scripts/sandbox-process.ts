import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Mark } from "./processes.ts";
import { SANDBOX_LIMITS, type Supervised, Supervisor } from "./supervisor.ts";
import { spawnTied } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");

/** The code has no access to network, files or settings. */
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "sandbox", worker = .sandbox),
    (name = "nowhere", network = (allow = [])),
  ],
  sockets = [(name = "http", http = (), service = "sandbox")],
);

const sandbox :Workerd.Worker = (
  modules = [(name = "sandbox.js", esModule = embed "sandbox.js")],
  compatibilityDate = "2026-10-01",
  bindings = [
    (name = "LOADER", workerLoader = (id = "run_code")),
    (name = "SECRET", fromEnvironment = "SECRET"),
  ],
  globalOutbound = "nowhere",
);
`;

export interface SandboxOptions {
  /** Folder of its Worker and its configuration. */
  readonly folder: string;
  /** Port on the loopback address. */
  readonly port: number;
  readonly mark: Mark;
  readonly log: (line: string) => void;
}

interface ProcessOptions extends Omit<SandboxOptions, "log"> {
  /** The path that the process serves; clients must know it. */
  readonly secret: string;
}

export interface RunningSandbox {
  /** URL for `remoteLoader`. */
  readonly url: string;
  readonly supervisor: Supervisor;
}

/** Starts workerd with only a Worker Loader, in a process that may be killed at any time. */
export function superviseSandbox({ folder, port, mark, log }: SandboxOptions): RunningSandbox {
  make(folder);
  const secret = randomBytes(32).toString("hex");
  const origin = `http://127.0.0.1:${port}`;
  const supervisor = new Supervisor({
    name: "process that runs code",
    restart: "it is restarted",
    start: () => start({ folder, port, secret, mark }),
    url: `${origin}/health`,
    limits: SANDBOX_LIMITS,
    log,
  });
  return { url: `${origin}/${secret}`, supervisor };
}

function make(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const esbuild = join(root, "node_modules/.bin/esbuild");
  const source = join(root, "scripts/local/sandbox.ts");
  const output = join(folder, "sandbox.js");
  execFileSync(esbuild, [source, "--format=esm", `--outfile=${output}`], { stdio: "pipe" });
  writeFileSync(join(folder, "sandbox.capnp"), CONFIG);
}

function start({ folder, port, secret, mark }: ProcessOptions): Supervised {
  const workerd = join(root, "node_modules/workerd/bin/workerd");
  const parameters = ["serve", "--experimental", `--socket-addr=http=127.0.0.1:${port}`];
  const command = [workerd, ...parameters, join(folder, "sandbox.capnp")];
  const process = spawnTied(command, {
    env: { ...mark, SECRET: secret },
    outputs: ["pipe", "pipe"],
  });
  const stop = async () => {
    process.kill();
    await process.exited;
  };
  return { ...process, stop };
}
