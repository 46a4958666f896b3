import * as limits from "../../limits.ts";
import type { TurnHead, JournalCall, JournalEntry } from "./journal.ts";
import { parseExactly } from "../../value/exact-number.ts";

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

export interface AttemptLine {
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly ms: number;
  /** Set if the turn waited for a person and continues. */
  readonly waited?: true;
  /** Set if the attempt before it failed and its process survived. */
  readonly survived?: true;
}

/** The state of a turn that a crash cut off, as read from its log. */
export interface RecoveredLog {
  /** Entries since the turn last waited for a person. */
  readonly entries: readonly JournalEntry[];
  /** Attempts since the last progress, including the first. */
  readonly attempts: number;
  /** The newest of these attempts, in a row, in which the process died. */
  readonly deaths: number;
  /** Start of the newest attempt, in milliseconds since 1970. */
  readonly attemptMs: number;
  /** Steps that have begun. The last of them may have no entry. */
  readonly steps: number;
  /** Calls that have begun and have no outcome. */
  readonly calls: readonly JournalCall[];
}

/** The lines of a turn's log: a letter, then JSON, which has no line break. */
export const attemptLine = (attempt: AttemptLine) => `a${JSON.stringify(attempt)}\n`;
export const entryLine = (entry: JournalEntry) => `j${JSON.stringify(entry)}\n`;
/** A line for a chunk, given as JSON. */
export const frameLine = (data: string) => `f${data}\n`;

/** Reads a whole log: the state of its turn, and in `lines` its attempts and frames, in their order. */
export function readLog(
  log: string,
): RecoveredLog & { readonly lines: readonly (AttemptLine | string)[] } {
  const lines: (AttemptLine | string)[] = [];
  let entries: JournalEntry[] = [];
  const begun = new Map<string, JournalCall>();
  const state = { attempts: 0, deaths: 0, attemptMs: 0, steps: 0 };
  for (const line of log.split("\n")) {
    const data = line.slice(1);
    // The functions above wrote these lines.
    if (line.startsWith("f")) {
      lines.push(data);
      if (typeOf(data) === "start-step") state.steps++;
    } else if (line.startsWith("j")) {
      const entry = parseExactly(data) as JournalEntry;
      entries.push(entry);
      const { calls = [], chunks = [] } = entry;
      for (const chunk of chunks) if ("toolCallId" in chunk) begun.delete(chunk.toolCallId);
      // The chunks may have an approval of a call that begins now.
      for (const call of calls) begun.set(call.toolCallId, call);
      // The attempt that made progress is the first of those that may still fail.
      Object.assign(state, { attempts: 1, deaths: 1 });
    } else if (line.startsWith("a")) {
      const attempt = JSON.parse(data) as AttemptLine;
      if (attempt.waited === true) {
        entries = [];
        Object.assign(state, { steps: 0, attempts: 0, deaths: 0 });
      }
      lines.push(attempt);
      state.attempts++;
      state.deaths = attempt.survived === true ? 1 : state.deaths + 1;
      state.attemptMs = attempt.ms;
    }
  }
  return { ...state, entries, calls: [...begun.values()], lines };
}

/** The type of a chunk. It is the first field of the JSON. */
export function typeOf(data: string): string {
  return /^\{"type":"([a-z-]+)"/u.exec(data)?.[1] ?? "";
}
