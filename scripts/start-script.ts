import { codeOf, messageOf } from "../src/errors.ts";
import { hasEntry, parentOf } from "./tied-process.ts";

const CHECK_INTERVAL_MS = 200;
const MAX_PORT = 65_535;

/**
 * Runs a start script, and exits with the code that `work` returns; with 0 if it was stopped by a signal. An error is
 * printed as a line, and the exit code is 1.
 *
 * @param work Receives a signal that is aborted when it must stop.
 */
export async function runStartScript(work: (stopping: AbortSignal) => Promise<number>) {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => stopping.abort());
  }
  // A killed npm sends no signal.
  const before = ancestors();
  setInterval(() => {
    if (stopping.signal.aborted || ancestors() === before) return;
    console.error("The process that started this server has ended, so the server stops.");
    stopping.abort();
  }, CHECK_INTERVAL_MS).unref();
  try {
    const code = await work(stopping.signal);
    process.exit(stopping.signal.aborted ? 0 : code);
  } catch (error) {
    if (stopping.signal.aborted) process.exit(0);
    const code = codeOf(error);
    console.error(code === "internal" ? messageOf(error) : `${code}: ${messageOf(error)}`);
    process.exit(1);
  }
}

/** `PORT`, or 8787. Throws if it is not a port number. */
export function portFromEnvironment(): number {
  const { PORT = "8787" } = process.env;
  const port = Number(PORT);
  if (Number.isInteger(port) && port > 0 && port <= MAX_PORT) return port;
  throw new Error(`PORT must be a number from 1 to ${MAX_PORT}, not ${PORT}.`);
}

/** The parent of this process. With npm also the shell's parent, because some shells outlive a killed npm. */
function ancestors(): string {
  const pids = [process.ppid];
  const fromNpm = `npm_lifecycle_event=${process.env.npm_lifecycle_event}`;
  for (const pid of pids) if (hasEntry(pid, fromNpm)) pids.push(parentOf(pid));
  return pids.join(" ");
}
