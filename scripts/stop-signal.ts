import { hasEntry, parentOf } from "./processes.ts";

const CHECKED_EVERY_MS = 200;

/** Aborted by a signal to stop, or when a process that started this one is gone. */
export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => stopping.abort());
  }
  // A killed npm sends no signal.
  const before = String(starters());
  setInterval(() => {
    if (String(starters()) !== before) stopping.abort();
  }, CHECKED_EVERY_MS).unref();
  return stopping.signal;
}

/** The parent of this process. With npm also the shell's parent: some shells outlive a killed npm. */
function starters(): readonly number[] {
  const pids = [process.ppid];
  const fromNpm = `npm_lifecycle_event=${process.env.npm_lifecycle_event}`;
  for (const pid of pids) {
    const parent = hasEntry(pid, fromNpm) ? parentOf(pid) : undefined;
    if (parent !== undefined) pids.push(parent);
  }
  return pids;
}
