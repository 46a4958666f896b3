import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

const END_TIMEOUT_MS = 5_000;
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;
const MAX_LISTED_BYTES = 64 * 1_024 * 1_024;
const isLinux = process.platform === "linux";

/** An entry in a process's environment, inherited by its children, that identifies the state they work on. */
export interface Mark {
  readonly BYREF_STATE_LOCK: string;
}

/**
 * Running processes that were started with the entry in their environment. Unlike process ids and groups, an
 * entry never identifies an unrelated process. Processes of other users are not included.
 */
export function processesMarked({ BYREF_STATE_LOCK }: Mark): readonly number[] {
  const entry = `BYREF_STATE_LOCK=${BYREF_STATE_LOCK}`;
  if (!isLinux) return listed(["-E", "-ww"], "command").filter(isEntryIn(entry)).map(pidOf);
  return processIds().filter((pid) => hasEntry(pid, entry));
}

/** True if `NAME=value` was in the process's environment at its start. False where there is no `/proc`. */
export function hasEntry(pid: number, entry: string): boolean {
  return readProcess(pid, "environ")?.split("\0").includes(entry) === true;
}

/** Undefined if the process has ended, and outside of Linux. */
export function parentOf(pid: number): number | undefined {
  const parent = Number(statOf(pid)?.[1]);
  return parent > 0 ? parent : undefined;
}

/** Running processes of the group, including zombies. */
export function processesIn(group: number): readonly number[] {
  if (!isLinux)
    return listed([], "pgid")
      .filter(isEntryIn(String(group)))
      .map(pidOf);
  return processIds().filter((pid) => Number(statOf(pid)?.[2]) === group);
}

function processIds(): readonly number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** The words of each line of `ps`, process id first. */
function listed(options: readonly string[], column: string): readonly (readonly string[])[] {
  const parameters = ["-A", ...options, "-o", `pid=,${column}=`];
  const { stdout } = spawnSync("ps", parameters, { encoding: "utf8", maxBuffer: MAX_LISTED_BYTES });
  return (stdout ?? "").split("\n").map((line) => line.trim().split(/\s+/));
}

function isEntryIn(entry: string) {
  return ([, ...words]: readonly string[]) => words.includes(entry);
}

function pidOf([pid]: readonly string[]): number {
  return Number(pid);
}

/**
 * Kills the processes that `find` returns, including those started meanwhile. Resolves when none of them
 * holds a file any more, and rejects if some cannot be ended.
 */
export async function endProcesses(find: () => readonly number[]): Promise<void> {
  const end = performance.now() + END_TIMEOUT_MS;
  for (let pids = find().filter(isRunning); pids.length > 0; pids = find().filter(isRunning)) {
    if (performance.now() > end) {
      throw new Error(`These processes cannot be ended: ${pids.join(", ")}.`);
    }
    for (const pid of pids) signal(pid, "SIGKILL");
    await wait(20);
  }
}

/** False for a process that has ended, including zombies. */
export function isRunning(pid: number): boolean {
  const state = statOf(pid)?.[0];
  return state === undefined ? signal(pid, 0) : !"ZX".includes(state);
}

/** CPU time of the processes, in milliseconds; undefined if one has ended, and outside of Linux. */
export function cpuMsOf(pids: readonly number[]): number | undefined {
  let ticks = 0;
  for (const pid of pids) {
    const fields = statOf(pid);
    if (fields === undefined) return undefined;
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return TICK_MS * ticks;
}

/**
 * The fields after the name: state, parent, group and so on. The name may contain anything, including
 * brackets.
 */
function statOf(pid: number): readonly string[] | undefined {
  return readProcess(pid, "stat")?.split(") ").at(-1)?.split(" ");
}

function readProcess(pid: number, file: "environ" | "stat"): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return undefined;
  }
}

/** Sends a signal and returns true if the process exists. Signal 0 only checks. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
