import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Queue } from "../../src/edge/turns/turn-queue.ts";

/** A task that reports its start, and waits until the test resolves or rejects it. */
function heldTask(name: string, started: string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const task = () => {
    started.push(name);
    return promise;
  };
  return { task, end: () => resolve(name), fail: (error: Error) => reject(error) };
}

/** Waits until everything that is ready to run has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("a queue", () => {
  it("runs one task after the other, in the order of arrival", async () => {
    const queue = new Queue();
    const started: string[] = [];
    const held = ["a", "b", "c"].map((name) => heldTask(name, started));
    const runs = held.map(({ task }) => queue.run(task));
    await settled();
    expect([started, queue.length]).toEqual([["a"], 3]);
    // A task that could end at once still waits for its turn.
    held[1]?.end();
    await settled();
    expect(started).toEqual(["a"]);
    held[0]?.end();
    await settled();
    expect(started).toEqual(["a", "b", "c"]);
    held[2]?.end();
    expect(await Promise.all(runs)).toEqual(["a", "b", "c"]);
    expect(queue.length).toBe(0);
  });

  it("lets one task run and eight wait, and refuses one more at once", async () => {
    const queue = new Queue();
    const started: string[] = [];
    const tasks = Array.from({ length: limits.maxQueuedTurns + 1 }, (_, at) =>
      heldTask(String(at), started),
    );
    const runs = tasks.map(({ task }) => queue.run(task));
    const late = heldTask("late", started);
    expect(() => queue.run(late.task)).toThrow(expect.objectContaining({ code: "rate_limited" }));
    expect(queue.length).toBe(limits.maxQueuedTurns + 1);
    tasks[0]?.end();
    await runs[0];
    await settled();
    const next = queue.run(late.task);
    for (const { end } of [...tasks, late]) end();
    await Promise.all([...runs, next]);
    expect(started).toEqual([...tasks.map((_, at) => String(at)), "late"]);
    expect(queue.length).toBe(0);
  });
});
