import * as limits from "../../limits.ts";
import type { TurnHead } from "./journal.ts";
import type { RecoveredLog } from "./log-lines.ts";

/** Before an attempt that follows so many which came to nothing; the last stands for all further ones. */
const DELAYS_MS = [0, 0, 0, 0, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

/**
 * The pause before the last attempt that may end in the death of the process. In a series of restarts for
 * another reason the process dies in this pause, and the attempt is not used up.
 */
const LAST_PAUSE_MS = 1_000;

/** Why a turn, or a run, is not tried again; undefined if it is. */
export function giveUpReason({ attempts, deaths }: RecoveredLog): string | undefined {
  if (deaths >= limits.maxTurnDeaths) {
    return `The process died in ${limits.maxTurnDeaths} tries in a row, without any progress.`;
  }
  if (attempts <= limits.maxTurnTries) return undefined;
  return `It was tried ${limits.maxTurnTries} more times, and cut off each time.`;
}

/** How long to wait before a turn that was cut off is tried again. */
export function recoveryDelayMs(recoveredLog: RecoveredLog, nowMs: number): number {
  const { attempts, deaths, attemptMs } = recoveredLog;
  // It is not going to be tried.
  if (giveUpReason(recoveredLog) !== undefined) return 0;
  if (deaths === limits.maxTurnDeaths - 1) return LAST_PAUSE_MS;
  const index = Math.min(Math.max(attempts - 1, 0), DELAYS_MS.length - 1);
  const delayMs = DELAYS_MS[index] ?? 0;
  // Counted from the last attempt; a clock that was set back makes it no longer.
  const passedMs = Math.max(nowMs - attemptMs, 0);
  return Math.max(delayMs - passedMs, 0);
}

/** Of what a crash cut off: the same sitting. */
export function nextAttempt(last: TurnHead): TurnHead {
  const { attempt, sitting = attempt } = last;
  return { ...last, attempt: attempt + 1, sitting };
}
