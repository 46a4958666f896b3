import { ClientError } from "./client-error.ts";
import type { ClientOptions } from "./connection.ts";

const MAX_FAILURES = 8;
const FIRST_MS = 250;
const LONGEST_MS = 4_000;

export interface Retries {
  /**
   * Waits before the next try. Throws the error if a retry cannot help, or after too many failures in a row.
   */
  readonly waitAfter: (error: unknown) => Promise<void>;
  /** Called after a success: resets the count of failures. */
  readonly reset: () => void;
}

export function retriesFor(
  { retryMs = backOff }: ClientOptions,
  signal: AbortSignal | undefined,
): Retries {
  let failures = 0;
  return {
    waitAfter: async (error) => {
      const code = error instanceof ClientError ? error.code : undefined;
      const isPassing = code === "unreachable" || code === "unavailable";
      const ms = isPassing ? retryMs(++failures) : undefined;
      if (ms === undefined) throw error;
      await pause(ms, signal);
    },
    reset: () => {
      failures = 0;
    },
  };
}

/** The default of `retryMs`. */
export function backOff(failures: number): number | undefined {
  return failures > MAX_FAILURES ? undefined : Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, ms);
    const stop = () => {
      clearTimeout(timer);
      fail(signal?.reason as Error);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}
