import { codeOf, messageOf } from "../src/errors.ts";

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
  // A killed npm sends no signal. It is the parent, because `exec` in package.json replaces its shell.
  const parent = process.ppid;
  setInterval(() => {
    if (stopping.signal.aborted || process.ppid === parent) return;
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
