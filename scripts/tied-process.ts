import { type ChildProcess, spawn } from "node:child_process";
import { endProcesses, processesIn } from "./processes.ts";

/**
 * A shell that becomes the program. Before that it starts a watcher, which waits for the end of this pipe:
 * the system closes it when we end, even by `kill -9`. Then the watcher deletes the file `$0` and kills the
 * whole process group, itself included.
 */
const SCRIPT = `exec 9<&0 </dev/null
{ read -r _ <&9; rm -f -- "$0"; kill -9 0; } >/dev/null 2>&1 3>&- &
exec 9<&-
exec "$@"`;

const MAX_SAID_CHARS = 8_000;

type Output = "pipe" | "inherit";

export interface TiedOptions {
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** What becomes of its standard output, its errors, and of file descriptor 3, if it has one. */
  readonly outputs: readonly [Output, Output, Output?];
  /** A file that must not outlive this process. */
  readonly removes?: string;
}

export interface TiedProcess {
  readonly child: ChildProcess;
  /** Its exit code. By then all that it started has ended too. */
  readonly exited: Promise<number>;
  /** The last of what it wrote to piped outputs. */
  said(): string;
  /** What runs now of it and of all that it started. */
  family(): readonly number[];
  /** Kills it and all that it started, at once. */
  kill(): void;
}

/** Starts a program that ends with this process, together with all that it starts. */
export function spawnTied(command: readonly string[], options: TiedOptions): TiedProcess {
  const { cwd, env, outputs, removes = "" } = options;
  // A process group of its own, so that nothing escapes: wrangler's children outlive a killed wrangler.
  const child = spawn("/bin/sh", ["-c", SCRIPT, removes, ...command], {
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
  const exited = new Promise<number>((done) => {
    child.once("error", () => done(1));
    child.once("exit", async (code) => {
      await endProcesses(family()).catch(() => undefined);
      // From now on the system may give its id to another group.
      hasGroup = false;
      done(code ?? 1);
    });
  });
  return { child, exited, said: collect(child), family, kill };
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-MAX_SAID_CHARS);
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}
