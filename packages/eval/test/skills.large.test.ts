import { describe, expect, it } from "vitest";
import { armsNamed } from "../src/arms/arms.ts";
import { modelNamed } from "../src/models/model-named.ts";
import { priceOf } from "../src/models/prices.ts";
import type { Measures, Results } from "../src/report/results.ts";
import { summarize } from "../src/report/summarize.ts";
import { playCell } from "../src/runner/play-cell.ts";
import { bytesTask } from "../src/tasks/bytes-task.ts";
import { idsTask } from "../src/tasks/ids-task.ts";
import { joinTask } from "../src/tasks/join-task.ts";
import { longTask } from "../src/tasks/long-task.ts";
import { ownTasks } from "../src/tasks/own-tasks.ts";
import type { Task } from "../src/tasks/task.ts";

const about = { byref: "", date: "", seed: 1, count: 1, isQuick: true, sets: [] };

/** Runs tasks with a model of a known skill over HTTP, and returns the results. */
async function measured(skill: string, tasks: readonly Task[], words: string): Promise<Results> {
  const name = `scripted:${skill}`;
  const { model, close } = await modelNamed(name, {});
  const cells = [];
  for (const task of tasks) {
    for (const arm of armsNamed(words.split(","))) {
      cells.push(
        await playCell(task, arm, { model, contextTokens: 200_000, price: priceOf(name) }),
      );
    }
  }
  await close();
  return summarize({ ...about, model: name }, cells);
}

function rowOf({ arms }: Results, arm: string): Measures {
  const row = arms.find((one) => one.arm === arm);
  if (row === undefined) throw new Error(`There is no arm ${arm}.`);
  return row;
}

function seeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function expectInside(interval: Measures["right"], value: number): void {
  expect(interval?.low).toBeLessThanOrEqual(value);
  expect(interval?.high).toBeGreaterThanOrEqual(value);
  // The interval is narrow enough to be meaningful.
  expect((interval?.high ?? 1) - (interval?.low ?? 0)).toBeLessThan(Math.max(value, 0.2));
}

describe("the evaluation measures", () => {
  it("the rate of copy errors, and its effect on the bytes", async () => {
    const tasks = seeds(60).map((seed) =>
      bytesTask({ kind: seed % 2 === 0 ? "text" : "csv", size: 4_000, seed }),
    );
    const results = await measured("miscopies", tasks, "value,offload,reference");
    for (const arm of ["by value", "offload"]) {
      expectInside(rowOf(results, arm).copyErrors, 0.5);
      // No error in 4,000 characters: e^-2.
      expectInside(rowOf(results, arm).intact, Math.exp(-2));
    }
    expect(rowOf(results, "reference").intact?.value).toBe(1);
    expect(rowOf(results, "reference").copyErrors).toBeUndefined();
  });

  it("the share of misspelled references, and that each is corrected in one step", async () => {
    const tasks = seeds(300).map((seed) => idsTask({ seed }));
    const row = rowOf(await measured("misspells", tasks, "reference"), "reference");
    expectInside(row.wrongReferences, 0.05);
    expect(row.right?.value).toBe(1);
    expect(row.recovered?.value).toBe(1);
    expect(row.recoverySteps?.value).toBeLessThan(1.2);
  });

  it("the share of conversations that ignore the guide", async () => {
    const tasks = seeds(150).map((seed) => bytesTask({ kind: "csv", size: 2_000, seed }));
    const row = rowOf(await measured("ignores-guide", tasks, "reference"), "reference");
    expectInside(row.usedReferences, 0.9);
    // Without references, the model reads the value and copies it without errors.
    expect(row.right?.value).toBe(1);
  });

  it("the prompt length from which the middle is lost", async () => {
    const tasks = [16_000, 48_000, 64_000, 128_000].flatMap((size) =>
      seeds(5).map((seed) => bytesTask({ kind: "text", size, seed })),
    );
    const { sizes } = await measured("loses-middle", tasks, "value,reference");
    const found = sizes.map(({ arm, size, intact }) => [arm, size, intact?.value]);
    expect(found).toEqual([
      ["by value", 128_000, 0],
      ["by value", 16_000, 1],
      ["by value", 48_000, 1],
      ["by value", 64_000, 0],
      ["reference", 128_000, 1],
      ["reference", 16_000, 1],
      ["reference", 48_000, 1],
      ["reference", 64_000, 1],
    ]);
  });

  it("that a fact of turn 3 is lost in turn 40 of a long prompt, but not by reference", async () => {
    const tasks = seeds(12).map((seed) => longTask({ size: 240_000, seed }));
    const results = await measured("loses-middle", tasks, "value,reference");
    expect(rowOf(results, "by value").right?.value).toBe(0);
    expect(rowOf(results, "reference").right?.value).toBe(1);
  });
});

describe("the evaluation ranks", () => {
  it("references above copies for a sloppy model, by correctness, cost and tokens", async () => {
    const tasks = ownTasks({ isQuick: true, count: 8, seed: 40 });
    const { comparisons } = await measured("sloppy", tasks, "value,cap,offload,reference,code");
    const low = (arm: string) => comparisons.find((one) => one.arm === arm)?.right?.low;
    const cost = (arm: string) => comparisons.find((one) => one.arm === arm)?.cost?.high;
    for (const arm of ["reference", "reference, code, SQL"]) {
      expect(low(arm)).toBeGreaterThan(0.2);
      expect(cost(arm)).toBeLessThan(0.5);
    }
    expect(low("cap")).toBeLessThanOrEqual(0);
  });

  it("all arms equally for a model that makes no mistakes on small tasks", async () => {
    const tasks = ownTasks({ isQuick: true, count: 2, seed: 3 }).filter(
      ({ size }) => size < 20_000,
    );
    const { arms, comparisons } = await measured(
      "exact",
      tasks,
      "value,cap,offload,reference,code",
    );
    expect(arms.map(({ right }) => right?.value)).toEqual([1, 1, 1, 1, 1]);
    expect(comparisons.map(({ won, lost }) => [won, lost])).toEqual(comparisons.map(() => [0, 0]));
  });

  it("SQL above reading for a sum over a result that exceeds a cap", async () => {
    const tasks = seeds(3).map((seed) => joinTask({ orders: 900, seed }));
    const results = await measured("exact", tasks, "value,cap,reference,code");
    expect(rowOf(results, "cap").right?.value).toBe(0);
    expect(rowOf(results, "reference, code, SQL").right?.value).toBe(1);
    const [sql, read] = ["reference, code, SQL", "reference"].map(
      (arm) => rowOf(results, arm).input?.value ?? Number.NaN,
    );
    expect(sql).toBeLessThan((read ?? 0) / 4);
  });
});
