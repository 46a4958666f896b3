import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { durability, LoggedTurns } from "../support/logged-turns.ts";

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
