import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
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
  state,
} from "../support/logged-turns.ts";

let turns: LoggedTurns;

beforeEach(() => {
  turns = new LoggedTurns();
});

describe("frames", () => {
  it("are the pushed chunks as JSON, between any two indices", () => {
    const log = turns.begun();
    log.push(delta("a"));
    log.push(delta("b"));
    expect(log.slice(1, 0)[0]).toEqual({ id: 1_000_000_002, data: JSON.stringify(delta("a")) });
    expect(seen(log)).toEqual(["start", "a", "b"]);
    expect(log.slice(1, 0, 2).map(({ data }) => labelOf(data))).toEqual(["a"]);
    expect([log.length, log.count, log.firstOwn]).toEqual([3, 3, 0]);
  });

  it("are found by the id of the previous one", () => {
    const log = turns.begun();
    log.push(delta("a"));
    log.push(delta("b"));
    expect(log.indexAfter(0)).toBe(0);
    expect(log.indexAfter(1_000_000_001)).toBe(1);
    expect(log.indexAfter(1_000_000_003)).toBe(3);
    expect(log.indexAfter(1_999_999_999)).toBe(3);
    // An id of an unknown attempt starts from the beginning.
    expect(log.indexAfter(2_000_000_000)).toBe(0);
  });

  it("of a ready-made log are visible, and the log has ended", () => {
    const log = TurnLog.of([{ type: "start" }, delta("a")]);
    expect(seen(log)).toEqual(["start", "a"]);
    expect(log.slice(0, 0).map(({ id }) => id)).toEqual([1, 2]);
    expect([log.length, log.isEnded, log.rowsToEnd()]).toEqual([2, true, 0]);
  });
});

describe("a pushed chunk", () => {
  it("is visible at once, and written after two seconds", () => {
    const log = turns.begun();
    turns.nowMs += limits.turnLogMs - 1;
    log.push(delta("a"));
    expect(seen(log)).toEqual(["start", "a"]);
    expect(turns.written()).toEqual(["a", "f start"]);
    turns.nowMs++;
    log.push(delta("b"));
    expect(turns.written()).toEqual(["a", "f start", "f a", "f b"]);
    turns.nowMs += limits.turnLogMs - 1;
    log.push(delta("c"));
    expect(turns.written()).toHaveLength(4);
    turns.nowMs++;
    log.push(delta("d"));
    expect(turns.written().slice(4)).toEqual(["f c", "f d"]);
  });

  it("is written as soon as enough characters are pending", () => {
    const log = turns.begun();
    const overhead = `f${JSON.stringify(delta(""))}\n`.length;
    const text = "x".repeat(limits.turnLogChars - overhead);
    log.push(delta(text.slice(1)));
    expect(turns.written()).toHaveLength(2);
    log.commit(() => undefined);
    expect(turns.written()).toHaveLength(3);
    log.push(delta(text));
    expect(turns.written()).toHaveLength(4);
  });

  it("is visible without a journal, and written nowhere", () => {
    const log = turns.newLog();
    turns.nowMs += limits.turnLogMs;
    log.push(delta("a"));
    log.note({ state });
    log.commit(() => log.push(delta("b")));
    expect(seen(log)).toEqual(["a", "b"]);
    expect(turns.journal.read()).toBe("");
    expect(log.rowsToEnd()).toBe(0);
  });
});

describe("a commit", () => {
  it("is visible once it is durable, with chunks pushed meanwhile", async () => {
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    expect([log.length, seen(log)]).toEqual([0, []]);
    log.push(delta("a"));
    log.fail(delta("b"));
    expect(log.length).toBe(0);
    await settle(0);
    expect(seen(log)).toEqual(["start", "a", "b"]);
  });

  it("that does not become durable is never visible", async () => {
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    await settle(0, new Error("The object is gone."));
    log.push(delta("a"));
    log.close();
    expect([seen(log), log.isEnded]).toEqual([[], false]);
  });

  it("that fails is never visible, and not written with later frames", () => {
    const log = turns.begun();
    log.push(delta("a"));
    const failing = () =>
      log.commit(() => {
        log.push(delta("b"));
        log.note({ state });
        throw new Error("No.");
      });
    expect(failing).toThrow("No.");
    expect(seen(log)).toEqual(["start", "a"]);
    log.commit(() => log.push(delta("c")));
    expect(seen(log)).toEqual(["start", "a", "c"]);
    expect(turns.written()).toEqual(["a", "f start", "f a", "f c"]);
  });

  it("that fails keeps other writes, except at the beginning and the end", () => {
    turns.sql.run("CREATE TABLE saved (name TEXT)");
    const save = (name: string) => () => {
      turns.sql.run("INSERT INTO saved VALUES (?)", name);
      throw new Error("No.");
    };
    const log = turns.newLog();
    expect(() => log.begin(turns.journal, head, save("begin"))).toThrow("No.");
    log.begin(turns.journal, head, () => undefined);
    expect(() => log.commit(save("commit"))).toThrow("No.");
    expect(() => log.end(save("end"), () => head)).toThrow("No.");
    expect(() => log.retry(turns.journal, second, save("retry"))).toThrow("No.");
    expect(() => log.resume(turns.journal, second, save("resume"))).toThrow("No.");
    const saved = turns.sql.all("SELECT name FROM saved").map(({ name }) => name);
    expect(saved).toEqual(["commit"]);
    expect(new Journal(turns.sql).head()).toEqual(head);
  });
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
    before.end(
      () => before.push({ type: "finish" }),
      () => closed,
    );
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
