import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { cpuMsOf, endProcesses, isRunning, processesIn } from "./processes.ts";
import type { Supervised } from "./supervisor.ts";

/**
 * A shell script that becomes the program. Its input is a pipe from this process, which the system closes
 * when this process ends, even by `kill -9`. The shell waits for a line, sent when the file `$0` is written,
 * and leaves a watcher behind. At the end of the pipe the watcher deletes the file and kills the whole
 * process group, including itself.
 */
const SCRIPT = `exec 9<&0 </dev/null
read -r _ <&9 || { rm -f -- "$0"; exit 1; }
{ read -r _ <&9; rm -f -- "$0"; kill -9 0; } >/dev/null 2>&1 3>&- &
exec 9<&-
exec "$@"`;

const STOP_TIMEOUT_MS = 5_000;
const MAX_OUTPUT_CHARS = 8_000;

type Output = "pipe" | "inherit";

/** A file that exists while the program runs, readable only by its owner. */
export interface TiedFile {
  readonly path: string;
  readonly text: string;
}

export interface TiedOptions {
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Targets of its standard output, its standard error, and file descriptor 3, if used. */
  readonly outputs: readonly [Output, Output, Output?];
  readonly file?: TiedFile;
}

export interface TiedProcess extends Supervised {
  readonly child: ChildProcess;
}

/** Starts a program that ends with this process, together with all its child processes. */
export function spawnTied(command: readonly string[], options: TiedOptions): TiedProcess {
  const { cwd, env, outputs, file } = options;
  // In its own process group, so that all children can be killed: wrangler's children outlive a killed
  // wrangler.
  const child = spawn("/bin/sh", ["-c", SCRIPT, file?.path ?? "", ...command], {
    cwd,
    env,
    stdio: ["pipe", ...outputs],
    detached: true,
  });
  let hasGroup = child.pid !== undefined;
  const family = () => (child.pid === undefined ? [] : processesIn(child.pid));
  const kill = () => {
    if (hasGroup) killGroup(child.pid);
  };
  const removeFile = () => {
    if (file !== undefined) rmSync(file.path, { force: true });
  };
  const onExit = () => {
    removeFile();
    kill();
  };
  const end = (code: number) => {
    removeFile();
    process.off("exit", onExit);
    return code;
  };
  const exited = new Promise<number>((done) => {
    child.once("error", () => done(end(1)));
    child.once("exit", async (code) => {
      await endProcesses(family).catch(() => undefined);
      // From now on the system may give its id to another group.
      hasGroup = false;
      done(end(code ?? 1));
    });
  });
  process.once("exit", onExit);
  try {
    if (file !== undefined) writeFileSync(file.path, file.text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    kill();
    throw error;
  }
  // It may have ended already.
  child.stdin?.on("error", () => undefined).write("\n");
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(kill, STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  };
  return { child, exited, lastOutput: collect(child), kill, stop, ...watchProcesses(family) };
}

type ProcessWatch = Pick<Supervised, "recordProcesses" | "hasAllProcesses" | "cpuMs">;

function watchProcesses(family: () => readonly number[]): ProcessWatch {
  let known: readonly number[] = [];
  return {
    recordProcesses: () => {
      if (known.length === 0 || !known.every(isRunning)) known = family();
    },
    hasAllProcesses: () => known.every(isRunning),
    cpuMs: () => cpuMsOf(known),
  };
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // The group has ended.
  }
}

function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-MAX_OUTPUT_CHARS);
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}
