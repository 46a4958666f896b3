import { QueryClient } from "@tanstack/react-query";

/** What the page has loaded with one key. The hooks of `byref/react` load what changes while turns write. */
export function newQueries(): QueryClient {
  const queries = {
    // The client repeats requests itself, and a server on this machine needs no network.
    retry: false,
    networkMode: "always",
    refetchOnReconnect: true,
  } as const;
  return new QueryClient({ defaultOptions: { queries } });
}

/** Options for what never changes, such as a version's value. Only after a failure it is loaded again. */
export const unchanging = { staleTime: Infinity, gcTime: 10_000 } as const;

const PAUSE_MS = 150;

/**
 * Returns a function that loads again what is shown and may have changed. Calls while it loads become one
 * more.
 */
export function reloading(queries: QueryClient): () => void {
  let isAsked = false;
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (isAsked) {
      isAsked = false;
      const pause = new Promise((done) => setTimeout(done, PAUSE_MS));
      await Promise.all([queries.refetchQueries({ stale: true, type: "active" }), pause]);
    }
    isRunning = false;
  };
  return () => {
    isAsked = true;
    if (!isRunning) void run();
  };
}
