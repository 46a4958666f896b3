import { beforeEach, describe, expect, it, vi } from "vitest";
import { Deadline, withTimeLimit } from "../../src/value/deadline.ts";

beforeEach(() => void vi.useFakeTimers());
const never = new Promise<never>(() => {});
const late = () => new Error("late");

describe("a deadline", () => {
  it("returns the result of work that finishes in time, and leaves no timer", async () => {
    const limit = new Deadline(10, { error: late });
    expect(await limit.race(Promise.resolve(1))).toBe(1);
    expect([vi.getTimerCount(), limit.signal.aborted]).toEqual([0, false]);
  });

  it("does not wait for slow work, and aborts its signal", async () => {
    const limit = new Deadline(10, { error: late });
    const raced = expect(limit.race(never)).rejects.toThrow("late");
    await vi.advanceTimersByTimeAsync(9);
    expect(limit.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await raced;
    expect(limit.signal.reason).toEqual(late());
  });

  it("rejects with its own error, not with the error of the aborted work", async () => {
    const limit = new Deadline(10, { error: late });
    const work = new Promise<never>((_, reject) => {
      limit.signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
    const raced = expect(limit.race(work)).rejects.toThrow("late");
    await vi.advanceTimersByTimeAsync(10);
    await raced;
  });

  it.each(["before", "meanwhile"])("ends when the caller's signal aborts %s", async (when) => {
    const caller = new AbortController();
    if (when === "before") caller.abort(new Error("stopped"));
    const limit = new Deadline(10, { error: late, signal: caller.signal });
    const raced = expect(limit.race(never)).rejects.toThrow("stopped");
    caller.abort(new Error("stopped"));
    await raced;
    expect([limit.signal.aborted, vi.getTimerCount()]).toEqual([true, 0]);
  });
});

it("a time limit passes its signal to the work, and reports its length", async () => {
  let given: AbortSignal | undefined;
  const work = (signal: AbortSignal) => {
    given = signal;
    return never;
  };
  const limited = expect(withTimeLimit(10, work)).rejects.toThrow("no answer within 10 ms");
  await vi.advanceTimersByTimeAsync(10);
  await limited;
  expect(given?.aborted).toBe(true);
});
