import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Journal } from "../../src/turn/log/journal.ts";
import {
  closed,
  delta,
  durability,
  head,
  labelOf,
  LoggedTurns,
  second,
  seen,
  START_MS,
} from "../support/logged-turns.ts";

let turns: LoggedTurns;

beforeEach(() => {
  turns = new LoggedTurns();
});

describe("a watcher", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is notified after one to two ticks without frames, by one timer for all", async () => {
    const log = turns.begun();
    const told: string[] = [];
    void log.waitForFrames(1_000).then((isNews) => told.push(`first ${isNews}`));
    await vi.advanceTimersByTimeAsync(500);
    void log.waitForFrames(1_000).then((isNews) => told.push(`second ${isNews}`));
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).toEqual([]);
    void log.waitForFrames(1_000).then((isNews) => told.push(`third ${isNews}`));
    await vi.advanceTimersByTimeAsync(500);
    expect(told).toEqual(["first false", "second false"]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told).toEqual(["first false", "second false", "third false"]);
  });

  it("that has left leaves no timer behind", async () => {
    const log = turns.begun();
    void log.waitForFrames(1_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(vi.getTimerCount()).toBe(0);
    const next = log.waitForFrames(1_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await next).toBe(false);
  });

  it("of a log that ends waits until all of it is durable", async () => {
    vi.useRealTimers();
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    let told: boolean | undefined;
    void log.waitForFrames(60_000).then((isNews) => (told = isNews));
    log.close();
    await settle(9);
    expect([told, log.isEnded]).toEqual([undefined, false]);
    await settle(0);
    expect([told, log.isEnded]).toEqual([true, true]);
  });
});

describe("a turn that has waited", () => {
  /** Returns the log of the request that resumes a turn. */
  function waited() {
    const before = turns.begun();
    before.push({ type: "start-step" });
    before.end(() => {
      before.push({ type: "finish" });
      return closed;
    });
    const log = turns.newLog();
    log.resume(turns.journal, second, () => log.push({ type: "start" }));
    log.push(delta("a"));
    return log;
  }

  it("is one message for those who see all of it: one start and one finish", () => {
    const log = waited();
    expect(seen(log)).toEqual(["start", "start-step", "a"]);
    expect([log.length, log.count, log.firstOwn]).toEqual([5, 3, 3]);
  });

  it("begins with a start for the request that resumes it, and for no other", () => {
    const log = waited();
    expect(seen(log, log.firstOwn)).toEqual(["start", "a"]);
    // Read in two parts.
    expect(log.slice(3, 3, 4)).toMatchObject([{ edge: "start", id: 2_000_000_001 }]);
    expect(log.slice(4, 3).map(({ data }) => labelOf(data))).toEqual(["a"]);
    expect(log.slice(3, 1).map(({ data }) => labelOf(data))).toEqual(["a"]);
    expect(log.slice(1, 1).map(({ data }) => labelOf(data))).toEqual(["start-step", "a"]);
  });

  it("knows when each attempt began, and continues after a crash", () => {
    const log = waited();
    turns.nowMs += 5_000;
    log.push({ type: "start-step" });
    const next = turns.newLog();
    const recoveredLog = next.recover(new Journal(turns.sql));
    expect(recoveredLog).toMatchObject({ attempts: 1, attemptMs: START_MS, steps: 1 });
    expect(seen(next)).toEqual(["start", "start-step", "a", "start-step"]);
    next.retry(turns.journal, { ...head, attempt: 3 }, () => next.push({ type: "reset-step" }));
    expect(next.slice(0, 0).at(-1)?.id).toBe(3_000_000_001);
    expect(turns.newLog().recover(new Journal(turns.sql))).toMatchObject({
      attempts: 2,
      attemptMs: turns.nowMs,
    });
    expect(new Journal(turns.sql).head()).toMatchObject({ attempt: 3 });
  });
});
