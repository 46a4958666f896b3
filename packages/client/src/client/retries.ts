import { ClientError } from "./client-error.ts";
import type { ClientOptions } from "./connection.ts";

const MAX_FAILURES = 12;
const FIRST_MS = 500;
const LONGEST_MS = 8_000;

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

/** The default of `retryMs`: gives up after 35 to 106 seconds, which outlasts a deploy. */
export function backOff(failures: number): number | undefined {
  return failures > MAX_FAILURES ? undefined : pauseMs(failures);
}

/**
 * The pause after so many failures in a row. Random between half and one and a half of a time that doubles, so that
 * clients which lost a server together do not return together.
 */
export function pauseMs(failures: number): number {
  const ms = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
  return ms * (0.5 + Math.random());
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
