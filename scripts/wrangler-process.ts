import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Mark } from "./processes.ts";
import { spawnTied, type TiedFile, type TiedProcess } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

/**
 * Sends no metrics. Disables the explorer, which would show every object to anyone who reaches the port, and
 * its store of traces, which would grow without limit. The Worker receives the settings file, not this
 * process's environment.
 */
const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
  CLOUDFLARE_INCLUDE_PROCESS_ENV: "false",
  NO_COLOR: "1",
  CI: "1",
};

export interface WranglerOptions {
  /** Port on the loopback address. */
  readonly port: number;
  /** The folder of objects and buckets; an absolute path. */
  readonly stateDir: string;
  /** The settings. */
  readonly envFile: TiedFile;
  /** The folder of the page. Default: the one in wrangler.toml. */
  readonly assets?: string | undefined;
  /** The Worker's main module. Default: the one in wrangler.toml. */
  readonly main?: string | undefined;
  /** Identifies the processes of this server. */
  readonly mark: Mark;
  /** Receives each line of JSON that the Worker logs. Default: none. */
  readonly log?: (line: string) => void;
}

/** Starts `wrangler dev`. */
export function startWrangler(options: WranglerOptions): TiedProcess {
  const { port, stateDir, envFile, assets, main, mark, log } = options;
  const parameters = [
    "dev",
    ...(main === undefined ? [] : [main]),
    `--port=${port}`,
    "--ip=127.0.0.1",
    `--persist-to=${stateDir}`,
    `--env-file=${envFile.path}`,
    ...(assets === undefined ? [] : [`--assets=${assets}`]),
    "--inspector-port=0",
    "--show-interactive-dev-session=false",
    "--log-level=log",
  ];
  const started = spawnTied([process.execPath, wrangler, ...parameters], {
    cwd: root,
    outputs: ["pipe", "pipe"],
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, ...mark },
    file: envFile,
  });
  if (log !== undefined) forwardEvents(started.child, log);
  return started;
}

/** Forwards the Worker's events. Other output is wrangler's own. */
function forwardEvents({ stdout, stderr }: ChildProcess, log: (line: string) => void): void {
  for (const input of [stdout, stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      // Wrangler adds colours to errors.
      const [event] = /\{"event":.*\}/.exec(line) ?? [];
      if (event !== undefined) log(event);
    });
  }
}
