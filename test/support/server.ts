import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/free-port.ts";

const root = join(import.meta.dirname, "../..");
/** After it a server counts as stuck: a slow machine needs a fraction of it. */
const STUCK_MS = 5 * 60_000;

export type Environment = Readonly<Record<string, string>>;

/** How a process ended: with an exit code or by a signal. */
type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

interface Stopped extends Exit {
  /** Number of descendants that were still running after it exited. They have been killed. */
  readonly survivors: number;
}

/** A running start script, ready or not. */
interface Run {
  /** The URL in the ready line. Never resolves without that line. */
  readonly readyUrl: Promise<string>;
  readonly port: number;
  readonly pid: number;
  readonly stateDir: string;
  readonly exited: Promise<Exit>;
  /** Returns everything written so far to stdout and stderr. */
  output(): string;
  /**
   * Sends the signal and waits for the exit. Kills what is left, and deletes the state folder if it created
   * it.
   */
  stop(signal?: NodeJS.Signals): Promise<Stopped>;
}

export interface Server extends Run {
  readonly url: string;
}

/** Runs what `npm start` runs, without npm. Uses a free port and new state unless `env` specifies them. */
export async function startServer(env: Environment = {}): Promise<Server> {
  const run = await launch(env);
  const ready = await within(
    STUCK_MS,
    Promise.race([run.readyUrl, run.exited.then(() => undefined)]),
  );
  if (ready !== undefined) return { ...run, url: ready };
  await run.stop("SIGKILL");
  throw new Error(`The server did not become ready.\n${run.output()}`);
}

/** Starts with an environment that must prevent the start. Returns how it ended, and its output. */
export async function startInVain(env: Environment): Promise<Exit & { readonly output: string }> {
  const run = await launch(env);
  const exit = await within(STUCK_MS, run.exited);
  await run.stop("SIGKILL");
  if (exit === undefined) throw new Error(`The server did not exit.\n${run.output()}`);
  return { ...exit, output: run.output() };
}

/** Creates a folder for a test that starts a server more than once. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "byref-test-"));

/** Starts a server without waiting for the ready line. */
export async function launch(env: Environment): Promise<Run> {
  const port = Number(env.PORT ?? (await freePort()));
  const stateDir = env.STATE_DIR ?? temporaryFolder();
  // Passes on only what programs need to run, because this process's environment may contain settings.
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, ["scripts/start.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH, HOME, PORT: String(port), STATE_DIR: stateDir, ...env },
  });
  const exited = new Promise<Exit>((done) => {
    // Not "exit": the last output may still be in the pipes then.
    child.once("close", (code, signal) => done({ code, signal }));
  });
  const { output, readyUrl } = listen(child);
  const stop = async (signal: NodeJS.Signals = "SIGINT") => {
    // Collected before the exit, because afterwards their parent is unknown.
    const family = descendantsOf(child.pid);
    child.kill(signal);
    const exit = await within(STUCK_MS, exited);
    const survivors = await untilGone(family);
    for (const pid of survivors) killWithGroup(pid);
    child.kill("SIGKILL");
    if (env.STATE_DIR === undefined) rmSync(stateDir, { recursive: true, force: true });
    if (exit === undefined) throw new Error(`${signal} did not stop the server.\n${output()}`);
    return { ...exit, survivors: survivors.length };
  };
  return { port, pid: child.pid ?? 0, stateDir, exited, output, readyUrl, stop };
}

function listen(child: ChildProcess): { output: () => string; readyUrl: Promise<string> } {
  let text = "";
  const { promise: readyUrl, resolve } = Promise.withResolvers<string>();
  const add = (chunk: Buffer) => {
    text += chunk.toString();
    const url = /^ready (http:\/\/localhost:\d+)$/m.exec(text)?.[1];
    if (url !== undefined) resolve(url);
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return { output: () => text, readyUrl };
}

/** Returns undefined if the time runs out first. */
async function within<Result>(
  milliseconds: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), milliseconds);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** Finds descendants by parent, not by group, because wrangler has a process group of its own. */
function descendantsOf(pid: number | undefined): readonly number[] {
  const children = new Map<number, number[]>();
  for (const line of ps("-A", "-o", "pid=,ppid=").split("\n")) {
    const [own = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), own]);
  }
  const found = pid === undefined ? [] : [pid];
  for (const parent of found) found.push(...(children.get(parent) ?? []));
  return found.slice(1);
}

/** Waits for the end of these processes. Returns those that do not end. */
async function untilGone(pids: readonly number[]): Promise<readonly number[]> {
  const stuckMs = Date.now() + STUCK_MS;
  for (;;) {
    const left = pids.filter(isRunning);
    if (left.length === 0 || Date.now() > stuckMs) return left;
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** False for a process that has ended, even if its parent does not know it yet. */
export function isRunning(pid: number): boolean {
  try {
    if (process.platform !== "linux") return process.kill(pid, 0);
    return /\) [^ZX]/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

function ps(...options: readonly string[]): string {
  return execFileSync("ps", options).toString();
}

function killWithGroup(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It leads no group, or its group is gone.
    }
  }
}
