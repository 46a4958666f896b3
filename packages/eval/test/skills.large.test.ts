import { describe, expect, it } from "vitest";
import { armsNamed } from "../src/arms.ts";
import { NOMINAL as price } from "../src/models.ts";
import { type Measures, type Results, summarize } from "../src/results.ts";
import { playCell } from "../src/play-cell.ts";
import { exact, type Skill, skillModel, skillNamed } from "../src/scripted-models.ts";
import { bytesTask, joinTask, ownTasks } from "../src/own-tasks.ts";
import type { Task } from "../src/task.ts";

const about = { byref: "", date: "", seed: 1, count: 1, isQuick: true, sets: [] };

/** Runs tasks with a model of a known skill, and returns the results. */
async function measured(skill: Skill, tasks: readonly Task[], words: string): Promise<Results> {
  const budget = { maximum: Infinity, price, spent: 0, reserved: 0 };
  const options = { model: skillModel(skill), budget };
  const cells = [];
  for (const task of tasks) {
    for (const arm of armsNamed(words.split(","))) cells.push(await playCell(task, arm, options));
  }
  return summarize({ ...about, model: skill.name, price: { ...price, of: "" } }, cells);
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
  it("the effect of copy errors on the bytes", async () => {
    const tasks = seeds(60).map((seed) => bytesTask(seed % 2 === 0 ? "text" : "csv", 4_000, seed));
    const results = await measured(
      { ...exact, copyErrorsPer1000: 0.5 },
      tasks,
      "value,offload,reference",
    );
    // No error in 4,000 characters: e^-2.
    for (const arm of ["value", "offload"]) expectInside(rowOf(results, arm).intact, Math.exp(-2));
    expect(rowOf(results, "reference").intact?.value).toBe(1);
  });
});

describe("the evaluation ranks", () => {
  it("references above copies for a sloppy model, by correctness, cost and tokens", async () => {
    const tasks = ownTasks({ isQuick: true, count: 8, seed: 40 });
    const results = await measured(skillNamed("sloppy"), tasks, "value,reference,sql");
    const copies = rowOf(results, "value");
    for (const arm of ["reference", "sql"]) {
      const { right, cost, input } = rowOf(results, arm);
      expect(right?.low).toBeGreaterThan((copies.right?.high ?? 1) + 0.2);
      expect(cost?.value).toBeLessThan((copies.cost?.value ?? 0) / 2);
      expect(input?.value).toBeLessThan(copies.input?.value ?? 0);
    }
  });

  it("SQL above reading for a sum over a result that exceeds a cap", async () => {
    const tasks = seeds(3).map((seed) => joinTask(900, seed));
    const results = await measured(exact, tasks, "value,cap,reference,sql");
    expect(rowOf(results, "cap").right?.value).toBe(0);
    expect(rowOf(results, "sql").right?.value).toBe(1);
    const [sql, read] = ["sql", "reference"].map(
      (arm) => rowOf(results, arm).input?.value ?? Number.NaN,
    );
    expect(sql).toBeLessThan((read ?? 0) / 4);
  });
});
