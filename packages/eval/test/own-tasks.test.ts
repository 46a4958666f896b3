import { describe, expect, it } from "vitest";
import { arms } from "../src/arms.ts";
import { playCell } from "../src/play-cell.ts";
import { exact, skillModel } from "../src/scripted-models.ts";
import { NOMINAL as price } from "../src/models.ts";
import { ownTasks } from "../src/own-tasks.ts";
import type { Task } from "../src/task.ts";
import { slow } from "../../../test/support/slow.ts";

const quick = { isQuick: true, count: 1, seed: 7 };
const tasks = ownTasks(quick);

describe("the tasks", () => {
  it("are the same for the same seed, and differ for another", () => {
    const text = (list: readonly Task[]) => JSON.stringify(list.map(({ question }) => question));
    expect(text(ownTasks(quick))).toBe(text(tasks));
    expect(text(ownTasks({ ...quick, seed: 8 }))).not.toBe(text(tasks));
  });
});

describe("a model that makes no mistakes", () => {
  const model = skillModel(exact);
  const budget = { maximum: Infinity, price, spent: 0, reserved: 0 };
  const play = (task: Task, arm: (typeof arms)[number]) =>
    playCell(task, arm, { model, contextTokens: 200_000, budget });

  it.each(arms.filter(({ name }) => name !== "cap").map((arm) => [arm.name, arm] as const))(
    "solves every task %s",
    slow,
    async (_, arm) => {
      const cells = await Promise.all(tasks.map((task) => play(task, arm)));
      expect(cells.filter(({ isRight }) => !isRight)).toEqual([]);
    },
  );

  it("cannot pass on what was cut off", async () => {
    const [, capped] = arms;
    const cells = await Promise.all(tasks.flatMap((task) => (capped ? play(task, capped) : [])));
    const failed = cells.filter(({ isRight }) => !isRight).map(({ task }) => task);
    expect(failed).toEqual(["bytes-csv-48000-7", "bytes-json-48000-7"]);
  });

  it("receives no prompt that exceeds its context", async () => {
    const [byValue] = arms;
    const large = tasks.find(({ id }) => id.startsWith("bytes-csv-48000"));
    if (byValue === undefined || large === undefined) throw new Error("missing");
    const cell = await playCell(large, byValue, {
      model,
      contextTokens: 4_000,
      budget,
    });
    expect(cell).toMatchObject({
      ending: "did not fit",
      isRight: false,
      isIntact: false,
      calls: 1,
    });
  });

  it("recovers from a wrong reference in one step", async () => {
    const task = tasks.find(({ family }) => family === "wrong reference");
    const cells = await Promise.all(arms.flatMap((arm) => (task ? play(task, arm) : [])));
    const found = cells.map(({ arm, recoverySteps, recovered }) => [arm, recoverySteps, recovered]);
    expect(found).toEqual([
      ["by value", 1, true],
      ["cap", 1, true],
      // This arm reads the file first.
      ["offload", 2, true],
      ["reference", 1, true],
      ["reference, SQL", 1, true],
    ]);
  });
});
