/** Aborted by a signal to stop, or when whoever started this process is gone. */
export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => stopping.abort());
  }
  // npm that is killed takes its shell with it, and nobody tells us.
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stopping.abort();
  }, 200).unref();
  return stopping.signal;
}
