import * as limits from "../../limits.ts";
import type { TurnHead } from "./journal.ts";
import type { Remains } from "./log-lines.ts";

/** Before an attempt that follows so many which came to nothing; the last stands for all further ones. */
const DELAYS_MS = [0, 0, 0, 0, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000];

/** What is said of a turn, or a run, that is not tried again. */
export const GIVEN_UP = `It was tried ${limits.maxTurnTries} times more, and cut off each time.`;

/** How long to wait before a turn that was cut off is tried again. */
export function recoveryDelayMs({ attempts, attemptMs }: Remains, nowMs: number): number {
  // It is not going to be tried.
  if (attempts > limits.maxTurnTries) return 0;
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
