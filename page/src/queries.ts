import { QueryClient } from "@tanstack/react-query";

/** Cache of everything that the page loads with one key. The hooks of `byref/react` load what turns change. */
export function newQueries(): QueryClient {
  const queries = {
    // The client retries by itself, and a local server needs no network.
    retry: false,
    networkMode: "always",
    refetchOnReconnect: true,
  } as const;
  return new QueryClient({ defaultOptions: { queries } });
}

/** Query options for immutable data, such as the value of a version. Loads again only after a failure. */
export const unchanging = { staleTime: Infinity, gcTime: 10_000 } as const;

const PAUSE_MS = 150;

/** Returns a function that reloads the shown data. Calls during a reload cause one more. */
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
