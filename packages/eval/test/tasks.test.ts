import { describe, expect, it, afterEach, beforeEach } from "vitest";
import { arms } from "../src/arms.ts";
import { playCell } from "../src/play-cell.ts";
import { exact, skillModel } from "../src/scripted-models.ts";
import { NOMINAL as price } from "../src/models.ts";
import { idsTask, ownTasks } from "../src/own-tasks.ts";
import type { Task } from "../src/task.ts";
import { slow } from "../../../test/support/slow.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nestfulTasks } from "../src/nestful.ts";
import { type ScriptedCall, scriptedModel } from "../../testing/src/testing.ts";

const quick = { isQuick: true, count: 1, seed: 7 };
const tasks = ownTasks(quick);

it("the tasks are the same for the same seed, and differ for another", () => {
  const text = (list: readonly Task[]) => JSON.stringify(list.map(({ question }) => question));
  expect(text(ownTasks(quick))).toBe(text(tasks));
  expect(text(ownTasks({ ...quick, seed: 8 }))).not.toBe(text(tasks));
});

describe("a model that makes no mistakes", () => {
  const model = skillModel(exact);
  const budget = { maximum: Infinity, price, spent: 0, reserved: 0 };
  const play = (task: Task, arm: (typeof arms)[number]) => playCell(task, arm, { model, budget });

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
});

it("references that a model writes are counted, the wrong ones apart", async () => {
  const list = { tool: "list_shipments", input: {} };
  const cancel = (name: string) => ({ tool: "cancel_shipments", input: { ids: `$${name}[*].id` } });
  const calls = [list, cancel("list_shipmnts_1"), cancel("list_shipments_1")];
  const [cell] = await Promise.all(
    arms
      .filter(({ name }) => name === "reference")
      .map((arm) => {
        const budget = { maximum: Infinity, price, spent: 0, reserved: 0 };
        return playCell(idsTask(1), arm, { model: scriptedModel([...calls, "done"]), budget });
      }),
  );
  const references = { written: 2, wrong: 1 };
  expect(cell).toMatchObject({ isRight: true, usedReferences: true, references });
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "byref-sets-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function tasksOf(records: readonly object[]): readonly Task[] {
  writeFileSync(join(folder, "a.jsonl"), records.map((one) => JSON.stringify(one)).join("\n"));
  return nestfulTasks(folder);
}

/** Runs a task with a model that makes these calls. */
async function played(task: Task | undefined, calls: readonly ScriptedCall[]) {
  if (task === undefined) throw new Error("There is no task.");
  const chosen = arms.filter(({ name }) => name === "value" || name === "reference");
  return Promise.all(
    chosen.map(async (arm) => {
      const cell = await playCell(task, arm, {
        model: scriptedModel([...calls, "done"]),
        budget: { maximum: Infinity, price, spent: 0, reserved: 0 },
      });
      return [cell.isRight, cell.why];
    }),
  );
}

describe("NESTFUL v2", () => {
  const number = { description: "A number", type: "int or float" };
  const parameters = { arg_0: number, arg_1: number };
  const tools = ["divide", "multiply", "frobnicate"].map((name) => ({
    name,
    description: `${name}s.`,
    parameters,
    output_parameter: { result: number },
  }));
  const row = {
    sample_id: "one",
    input: "A fifth of 20 is taken 8 times. How much is it?",
    tools,
    output: [
      { name: "divide", label: "$var_1", arguments: { arg_0: 20, arg_1: 5 } },
      { name: "multiply", label: "$var_2", arguments: { arg_0: "$var_1.result$", arg_1: 8 } },
    ],
    gold_answer: 32,
  };
  const divide = { tool: "divide", input: { arg_0: 20, arg_1: 5 } };

  it("is right if the last result is the gold answer, with fields as JSON or as JSON text", async () => {
    const asText = { ...row, output: JSON.stringify(row.output), tools: JSON.stringify(tools) };
    for (const record of [row, asText]) {
      const [task] = tasksOf([record]);
      const right = [divide, { tool: "multiply", input: { arg_0: 4, arg_1: 8 } }];
      expect(await played(task, right)).toEqual([
        [true, undefined],
        [true, undefined],
      ]);
      const [first] = await played(task, [divide]);
      expect(first).toEqual([false, "4 in place of 32"]);
    }
  });

  it("skips records that it cannot compute, or computes differently", () => {
    const unknown = {
      ...row,
      sample_id: "two",
      output: [{ ...row.output[0], name: "frobnicate" }],
    };
    const other = { ...row, sample_id: "three", gold_answer: 33 };
    expect(tasksOf([row, unknown, other]).map(({ id }) => id)).toEqual(["nestful-one"]);
    expect(() => tasksOf([unknown])).toThrow("no records of nestful");
  });
});
