import type { JournalCall, JournalEntry } from "./journal.ts";

/** An attempt at a turn begins. */
export interface AttemptLine {
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly ms: number;
  /** The turn has waited for a person, and goes on. */
  readonly waited?: true;
  /** Set if the attempt before it failed without the death of its process. */
  readonly survived?: true;
}

/** What is known of a turn that a crash cut off. */
export interface RecoveredLog {
  /** Since it last waited for a person. */
  readonly entries: readonly JournalEntry[];
  /** Attempts since something was last achieved, the first included. */
  readonly attempts: number;
  /** The newest of these attempts, in a row, in which the process died. */
  readonly deaths: number;
  /** When the newest of them began, in milliseconds since 1970. */
  readonly attemptMs: number;
  /** Steps that were begun; the last of them may have no entry. */
  readonly steps: number;
  /** Calls that had begun, and of which nothing came. */
  readonly calls: readonly JournalCall[];
}

/** The lines of a turn's log: a letter, and JSON, which has no line break. */
export const attemptLine = (attempt: AttemptLine) => `a${JSON.stringify(attempt)}\n`;
export const entryLine = (entry: JournalEntry) => `j${JSON.stringify(entry)}\n`;
/** A chunk as JSON. */
export const frameLine = (data: string) => `f${data}\n`;

/** What a log is read into, line by line, as it was written. */
export interface LogReader {
  readonly onAttempt: (attempt: AttemptLine) => void;
  readonly onFrame: (data: string) => void;
}

/** Reads a whole log, and says what it comes to. */
export function readLines(log: string, { onAttempt, onFrame }: LogReader): RecoveredLog {
  let entries: JournalEntry[] = [];
  const begun = new Map<string, JournalCall>();
  const recoveredLog = { attempts: 0, deaths: 0, attemptMs: 0, steps: 0 };
  for (const line of log.split("\n")) {
    const data = line.slice(1);
    // The functions above wrote them.
    if (line.startsWith("f")) {
      onFrame(data);
      if (typeOf(data) === "start-step") recoveredLog.steps++;
    } else if (line.startsWith("j")) {
      const entry = JSON.parse(data) as JournalEntry;
      entries.push(entry);
      noteCalls(begun, entry);
      // The attempt that has achieved something is the first of those that may not.
      recoveredLog.attempts = 1;
      recoveredLog.deaths = 1;
    } else if (line.startsWith("a")) {
      const attempt = JSON.parse(data) as AttemptLine;
      if (attempt.waited === true) {
        entries = [];
        recoveredLog.steps = 0;
        recoveredLog.attempts = 0;
        recoveredLog.deaths = 0;
      }
      onAttempt(attempt);
      recoveredLog.attempts++;
      recoveredLog.deaths = attempt.survived === true ? 1 : recoveredLog.deaths + 1;
      recoveredLog.attemptMs = attempt.ms;
    }
  }
  return { ...recoveredLog, entries, calls: [...begun.values()] };
}

function noteCalls(
  begun: Map<string, JournalCall>,
  { calls = [], chunks = [] }: JournalEntry,
): void {
  for (const call of calls) begun.set(call.toolCallId, call);
  for (const chunk of chunks) if ("toolCallId" in chunk) begun.delete(chunk.toolCallId);
}

/** The type of a chunk, which stands first in it. */
export function typeOf(data: string): string {
  return /^\{"type":"([a-z-]+)"/u.exec(data)?.[1] ?? "";
}
