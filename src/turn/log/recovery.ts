import * as limits from "../../limits.ts";
import type { TurnHead } from "./journal.ts";
import type { RecoveredLog } from "./log-lines.ts";

/** Delays by the number of attempts without progress. The last value applies to all further attempts. */
const DELAYS_MS = [0, 0, 0, 0, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

/**
 * Delay before the last attempt in which the process may die. In a series of restarts for another reason, the
 * process dies during this delay, and the attempt is not used up.
 */
const LAST_PAUSE_MS = 1_000;

/** Why a turn or a run is not tried again. Undefined if it is. */
export function giveUpReason({ attempts, deaths }: RecoveredLog): string | undefined {
  if (deaths >= limits.maxTurnDeaths) {
    return `The process died in ${limits.maxTurnDeaths} tries in a row, without any progress.`;
  }
  if (attempts <= limits.maxTries) return undefined;
  return `It was tried ${limits.maxTries} more times, and interrupted each time.`;
}

/** Delay in milliseconds before an interrupted turn is tried again. */
export function recoveryDelayMs(recoveredLog: RecoveredLog, nowMs: number): number {
  const { attempts, deaths, attemptMs } = recoveredLog;
  // The turn is given up without a delay.
  if (giveUpReason(recoveredLog) !== undefined) return 0;
  if (deaths === limits.maxTurnDeaths - 1) return LAST_PAUSE_MS;
  const index = Math.min(Math.max(attempts - 1, 0), DELAYS_MS.length - 1);
  const delayMs = DELAYS_MS[index] ?? 0;
  // Counts from the last attempt. A clock that was set back does not lengthen the delay.
  const passedMs = Math.max(nowMs - attemptMs, 0);
  return Math.max(delayMs - passedMs, 0);
}

/** The head of the next attempt after a crash. `firstAttempt` is the attempt before the first crash. */
export function nextAttempt(last: TurnHead): TurnHead {
  const { attempt, firstAttempt = attempt } = last;
  return { ...last, attempt: attempt + 1, firstAttempt };
}
