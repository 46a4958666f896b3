import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/**
 * A shell script that becomes the program. Its input is a pipe from this process, which the system closes when this
 * process ends, even by `kill -9`. It leaves a watcher behind, which then kills the whole process group.
 */
const SCRIPT = `exec 9<&0 </dev/null
{ read -r _ <&9; kill -9 0; } >/dev/null 2>&1 3>&- &
exec 9<&-
exec "$@"`;

const TIMEOUT_MS = 5_000;
const MAX_OUTPUT_CHARS = 8_000;

/** An entry in the environment of the processes that work on a state folder; children inherit it. */
export interface Mark {
  readonly BYREF_STATE_LOCK: string;
}

type Output = "pipe" | "inherit";

export interface TiedOptions {
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Targets of its standard output, its standard error, and file descriptor 3, if used. */
  readonly outputs: readonly [Output, Output, Output?];
}

export interface TiedProcess {
  readonly child: ChildProcess;
  /** Its exit code. */
  readonly exited: Promise<number>;
  /** The last output that it wrote to pipes. */
  lastOutput(): string;
  /** Ends it and all its child processes at once. */
  kill(): void;
  /** Ends it gracefully, within a time limit. */
  stop(): Promise<void>;
}

/** Starts a program that ends with this process, together with all its child processes. */
export function spawnTied(
  command: readonly string[],
  { cwd, env, outputs }: TiedOptions,
): TiedProcess {
  // In its own process group: wrangler's children outlive a killed wrangler.
  const options = { cwd, env, stdio: ["pipe" as const, ...outputs], detached: true };
  const child = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...command], options);
  const kill = () => {
    if (child.pid !== undefined) signal(-child.pid, "SIGKILL");
  };
  const exited = new Promise<number>((done) => {
    child.once("error", () => done(1));
    child.once("exit", (code) => {
      kill();
      process.off("exit", kill);
      done(code ?? 1);
    });
  });
  process.once("exit", kill);
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(kill, TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  };
  let output = "";
  const add = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-MAX_OUTPUT_CHARS);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", add);
  return { child, exited, lastOutput: () => output, kill, stop };
}

/** Kills all processes with the mark. Resolves when none of them holds a file any more. */
export async function endProcesses(mark: Mark): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  for (let pids = processesMarked(mark); pids.length > 0; pids = processesMarked(mark)) {
    if (performance.now() > end)
      throw new Error(`These processes cannot be ended: ${pids.join()}.`);
    for (const pid of pids) signal(pid, "SIGKILL");
    await wait(20);
  }
}

/** Running processes with the mark. Unlike a process id, it never identifies an unrelated process. */
export function processesMarked({ BYREF_STATE_LOCK }: Mark): readonly number[] {
  const entry = `BYREF_STATE_LOCK=${BYREF_STATE_LOCK}`;
  if (process.platform === "linux")
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => environmentOf(pid).includes(entry));
  const listed = spawnSync("ps", ["-AEww", "-o", "pid=,command="], { encoding: "utf8" });
  const words = (listed.stdout ?? "").split("\n").map((line) => line.trim().split(/\s+/));
  return words.filter((line) => line.includes(entry)).map(([pid]) => Number(pid));
}

/** What was in the process's environment at its start. Nothing for one that has ended. */
function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
