import { describe, expect, it } from "vitest";
import type { JournalCall, JournalEntry } from "../../src/turn/log/journal.ts";
import {
  type AttemptLine,
  attemptLine,
  entryLine,
  frameLine,
  readLines,
  typeOf,
} from "../../src/turn/log/log-lines.ts";
import { nextAttempt, recoveryDelayMs } from "../../src/turn/log/recovery.ts";
import { head, state } from "../support/logged-turns.ts";

function call(toolCallId: string): JournalCall {
  return {
    toolName: "act",
    toolCallId,
    input: { n: 1 },
    pin: "p",
    idempotencyKey: `k/${toolCallId}`,
  };
}

/** Reads lines. Returns the recovered log, and the attempts and frames in it. */
function read(...lines: readonly string[]) {
  const attempts: AttemptLine[] = [];
  const frames: string[] = [];
  const recoveredLog = readLines(lines.join(""), {
    onAttempt: (attempt) => attempts.push(attempt),
    onFrame: (data) => frames.push(data),
  });
  return { recoveredLog, attempts, frames };
}

const step = frameLine('{"type":"start-step"}');
const reset = frameLine('{"type":"reset-step"}');
const attempt = (number: number, waited?: true) =>
  attemptLine({ attempt: number, ms: number * 1_000, ...(waited === true ? { waited } : {}) });

describe("the lines of a log", () => {
  it("are read as they were written, in order", () => {
    const text = frameLine('{"type":"text-delta","delta":"j{}\\na{}"}');
    const { attempts, frames } = read(attempt(1), step, text, attempt(2, true), reset);
    expect(attempts).toEqual([
      { attempt: 1, ms: 1_000 },
      { attempt: 2, ms: 2_000, waited: true },
    ]);
    expect(frames).toEqual([step, text, reset].map((line) => line.slice(1, -1)));
  });

  it("make an empty log if there are none", () => {
    const nothing = { attempts: 0, deaths: 0, attemptMs: 0, steps: 0, entries: [], calls: [] };
    expect(read().recoveredLog).toEqual(nothing);
    expect(read("x\n", "\n").recoveredLog).toEqual(nothing);
  });

  it("contain the entries, and the number of steps that began", () => {
    const first: JournalEntry = { step: { parts: [], display: ["a"] }, state };
    const then: JournalEntry = { state: { ...state, tainted: true } };
    const { recoveredLog } = read(attempt(1), step, entryLine(first), entryLine(then), step, reset);
    expect(recoveredLog).toMatchObject({ entries: [first, then], steps: 2 });
  });

  it("contain the number of attempts without progress, and the start of the last", () => {
    expect(read(attempt(1)).recoveredLog).toMatchObject({ attempts: 1, attemptMs: 1_000 });
    const two = read(attempt(1), attempt(2)).recoveredLog;
    expect(two).toMatchObject({ attempts: 2, attemptMs: 2_000 });
    // An attempt that wrote an entry is counted as the first one again.
    const entry = entryLine({ state });
    const three = read(attempt(1), attempt(2), attempt(3), entry).recoveredLog;
    expect(three).toMatchObject({ attempts: 1, attemptMs: 3_000 });
    expect(read(attempt(1), entry, attempt(2), attempt(3)).recoveredLog.attempts).toBe(3);
  });

  it("contain the number of attempts in a row in which the process died", () => {
    const entry = entryLine({ state });
    const survived = attemptLine({ attempt: 3, ms: 3_000, survived: true });
    expect(read(attempt(1), attempt(2)).recoveredLog.deaths).toBe(2);
    expect(read(attempt(1), attempt(2), entry).recoveredLog.deaths).toBe(1);
    expect(read(attempt(1), attempt(2), survived).recoveredLog).toMatchObject({
      attempts: 3,
      deaths: 1,
    });
  });

  it("start over where the turn continues after waiting", () => {
    const entry = entryLine({ state });
    const { recoveredLog } = read(
      attempt(1),
      step,
      entry,
      attempt(2),
      attempt(3, true),
      step,
      step,
    );
    const counts = { attempts: 1, deaths: 1, attemptMs: 3_000, steps: 2 };
    expect(recoveredLog).toEqual({ ...counts, entries: [], calls: [] });
  });

  it("contain the calls that began and have no outcome", () => {
    const begin: JournalEntry = { calls: [call("a"), call("b"), call("c")], state };
    const result: JournalEntry = {
      chunks: [
        { type: "tool-output-available", toolCallId: "b", output: 1 },
        { type: "finish-step" },
      ],
      state,
    };
    const again: JournalEntry = { calls: [{ ...call("c"), pin: "q" }], state };
    const lines = [begin, result, again].map(entryLine);
    const { calls } = read(attempt(1), ...lines).recoveredLog;
    expect(calls).toEqual([call("a"), { ...call("c"), pin: "q" }]);
  });
});

it("the type of a chunk is its first field", () => {
  expect(typeOf('{"type":"start-step","x":1}')).toBe("start-step");
  expect(typeOf('{"type":"text-delta","delta":"{\\"type\\":\\"finish\\""}')).toBe("text-delta");
  for (const other of ["", '{"type":1}', ' {"type":"finish"}', '{"type":""}', '{"type":"A"}']) {
    expect(typeOf(other)).toBe("");
  }
});

it("the next attempt records the attempt before the first crash", () => {
  const last = { ...head, attempt: 4 };
  const next = nextAttempt(last);
  expect(next).toEqual({ ...head, attempt: 5, firstAttempt: 4 });
  expect(nextAttempt(next)).toEqual({ ...head, attempt: 6, firstAttempt: 4 });
});

const recoveredLogWith = (attempts: number, deaths: number) =>
  ({ attempts, deaths, attemptMs: 1_000, steps: 1, entries: [], calls: [] }) as const;

it("a turn whose process survives is retried at once, then with growing delays, whatever the clock says", () => {
  const delays = (nowMs: number) =>
    Array.from({ length: 12 }, (_, attempts) =>
      recoveryDelayMs(recoveredLogWith(attempts, 0), nowMs),
    );
  const seconds = [0, 0, 0, 0, 0, 1, 2, 5, 15, 60, 300, 0];
  expect(delays(1_000)).toEqual(seconds.map((delay) => delay * 1_000));
  // With the clock a day back, and a day ahead.
  expect(delays(-86_400_000)).toEqual(delays(1_000));
  expect(Math.max(...delays(86_400_000))).toBe(0);
});

it("a turn whose process died is retried at once, then after a second in the new process", () => {
  for (const nowMs of [1_000, 86_400_000]) {
    const delays = [1, 2, 3].map((deaths) =>
      recoveryDelayMs(recoveredLogWith(deaths, deaths), nowMs),
    );
    expect(delays).toEqual([0, 1_000, 0]);
  }
});
