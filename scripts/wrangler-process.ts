import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

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

const STOPS_WITHIN_MS = 5_000;

export interface WranglerOptions {
  /** Of the loopback address. */
  readonly port: number;
  /** Where objects and buckets are kept; an absolute path. */
  readonly stateDir: string;
  readonly envFile: string;
  /** Told in a line of JSON of each turn, and of what else the Worker has to tell. Default: nobody is. */
  readonly say?: (line: string) => void;
}

/** `wrangler dev`, and all that it starts. */
export interface WranglerProcess {
  readonly exited: Promise<number>;
  /** The last of what it wrote. */
  said(): string;
  /** Whom to kill if it goes without a word; called once it runs. */
  noteFamily(): void;
  /** Of those that it has started, in milliseconds; undefined where `/proc` does not tell. */
  cpuMs(): number | undefined;
  /** At once; waits for nothing. */
  kill(): void;
  /** Lets it end by itself for a while. */
  stop(): Promise<void>;
}

export function startWrangler({ port, stateDir, envFile, say }: WranglerOptions): WranglerProcess {
  const child = spawn(
    process.execPath,
    [
      wrangler,
      "dev",
      `--port=${port}`,
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
  if (say !== undefined) forwardEvents(child, say);
  let known: readonly number[] = [];
  const kill = (family = familyOf(child.pid)) => {
    for (const pid of family) killOne(pid);
  };
  const exited = new Promise<number>((done) => {
    child.once("exit", (code) => {
      // Its own children have another parent now.
      kill(known.filter(isOfOurs));
      done(code ?? 1);
    });
  });
  return {
    exited,
    said,
    noteFamily: () => {
      known = familyOf(child.pid).filter((pid) => pid !== child.pid);
    },
    cpuMs: () => cpuMsOf(known),
    kill: () => kill(),
    stop: async () => {
      // Those that outlive wrangler would not be found any more.
      const family = familyOf(child.pid);
      child.kill("SIGTERM");
      const timer = setTimeout(() => kill(family), STOPS_WITHIN_MS);
      await exited;
      clearTimeout(timer);
      kill(family);
    },
  };
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

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

function cpuMsOf(pids: readonly number[]): number | undefined {
  try {
    const ticks = pids.map((pid) => {
      // Behind the name, which may hold anything but ends with the last bracket.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      return Number(fields[11]) + Number(fields[12]);
    });
    return TICK_MS * ticks.reduce((sum, count) => sum + count, 0);
  } catch {
    return undefined;
  }
}

/** Is it a program of this project's still? A process's number is given again when it has gone. */
function isOfOurs(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
  return (stdout ?? "").includes(join(root, "node_modules"));
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has gone already.
  }
}
