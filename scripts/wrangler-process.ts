import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cpuMsOf, isRunning, type Mark } from "./processes.ts";
import { spawnTied } from "./tied-process.ts";

const root = join(import.meta.dirname, "..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

/**
 * Nothing is sent home; the explorer, which would show every object to anyone who reaches the port, is
 * off, and so is its store of traces, which would grow for ever; and the Worker gets the settings file, not
 * this process's environment.
 */
const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  X_LOCAL_EXPLORER: "false",
  X_LOCAL_OBSERVABILITY: "false",
  CLOUDFLARE_INCLUDE_PROCESS_ENV: "false",
  NO_COLOR: "1",
  CI: "1",
};

const STOPS_WITHIN_MS = 5_000;

export interface WranglerOptions {
  /** Of the loopback address. */
  readonly port: number;
  /** Where objects and buckets are kept; an absolute path. */
  readonly stateDir: string;
  /** Deleted if this process ends. */
  readonly envFile: string;
  /** The folder of the page. Default: the one in wrangler.toml. */
  readonly assets?: string | undefined;
  /** The Worker's main module. Default: the one in wrangler.toml. */
  readonly main?: string | undefined;
  /** What tells these processes from others. */
  readonly mark: Mark;
  /** Receives each line of JSON that the Worker logs. Default: nobody does. */
  readonly say?: (line: string) => void;
}

/** `wrangler dev`, and all that it starts. */
export interface WranglerProcess {
  readonly exited: Promise<number>;
  /** The last of what it wrote. */
  said(): string;
  /** Takes note of its processes: wrangler replaces its workerd when a source changes. */
  noteFamily(): void;
  /** False if one of those has ended. */
  isWhole(): boolean;
  /** CPU time of those, in milliseconds; undefined where `/proc` does not have it. */
  cpuMs(): number | undefined;
  /** At once; waits for nothing. */
  kill(): void;
  /** Lets it end by itself for a while. */
  stop(): Promise<void>;
}

export function startWrangler(options: WranglerOptions): WranglerProcess {
  const { port, stateDir, envFile, assets, main, mark, say } = options;
  const parameters = [
    "dev",
    ...(main === undefined ? [] : [main]),
    `--port=${port}`,
    "--ip=127.0.0.1",
    `--persist-to=${stateDir}`,
    `--env-file=${envFile}`,
    ...(assets === undefined ? [] : [`--assets=${assets}`]),
    "--inspector-port=0",
    "--show-interactive-dev-session=false",
    "--log-level=log",
  ];
  const { child, exited, said, family, kill } = spawnTied(
    [process.execPath, wrangler, ...parameters],
    {
      cwd: root,
      outputs: ["pipe", "pipe"],
      env: { ...process.env, ...WRANGLER_ENVIRONMENT, ...mark },
      removes: envFile,
    },
  );
  if (say !== undefined) forwardEvents(child, say);
  let known: readonly number[] = [];
  return {
    exited,
    said,
    kill,
    noteFamily: () => {
      if (known.length === 0 || !known.every(isRunning)) known = family();
    },
    isWhole: () => known.every(isRunning),
    cpuMs: () => cpuMsOf(known),
    stop: async () => {
      child.kill("SIGTERM");
      const timer = setTimeout(kill, STOPS_WITHIN_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** What else wrangler writes is about itself. */
function forwardEvents({ stdout, stderr }: ChildProcess, say: (line: string) => void): void {
  for (const input of [stdout, stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      // It paints errors.
      const [event] = /\{"event":.*\}/.exec(line) ?? [];
      if (event !== undefined) say(event);
    });
  }
}
