import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { arms } from "../src/arms/arms.ts";
import { modelNamed } from "../src/models/model-named.ts";
import { scriptedLead } from "../src/models/scripted-lead.ts";
import { playCell } from "../src/runner/play-cell.ts";
import { setTasks } from "../src/sets/set-tasks.ts";
import type { Task } from "../src/tasks/task.ts";
import { type ScriptedCall, scriptedModel } from "../../testing/src/testing.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "byref-sets-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function tasksOf(name: string, records: readonly object[]): readonly Task[] {
  writeFileSync(join(folder, "a.jsonl"), records.map((one) => JSON.stringify(one)).join("\n"));
  return setTasks({ name, folder, most: 10 });
}

/** Runs a task with a model that makes these calls. */
async function played(task: Task | undefined, calls: readonly ScriptedCall[]) {
  if (task === undefined) throw new Error("There is no task.");
  const model = scriptedLead({ script: [...calls, "done"], turn: 9 }, scriptedModel([]));
  const chosen = arms.filter(({ name }) => name === "by value" || name === "reference");
  return Promise.all(
    chosen.map(async (arm) => {
      const cell = await playCell(task, arm, {
        model: scriptedLead({ script: [...calls, "done"], turn: 9 }, model),
        contextTokens: 200_000,
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
      const [task] = tasksOf("nestful", [record]);
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
    expect(tasksOf("nestful", [row, unknown, other]).map(({ id }) => id)).toEqual(["nestful-one"]);
    expect(() => tasksOf("nestful", [unknown])).toThrow("no records of nestful");
  });
});

describe("ComplexFuncBench", () => {
  const search = { name: "Search_Flights", arguments: { from: "OSL", days: [1, 2] } };
  const book = { name: "Book", arguments: { token: "t-1" } };
  const row = {
    id: "Cross-1",
    conversations: [
      { role: "user", content: "Book the first flight from Oslo." },
      { role: "assistant", function_call: [search] },
      { role: "observation", content: [{ flights: [{ token: "t-1" }] }] },
      { role: "assistant", function_call: [book] },
      { role: "observation", content: [{ booked: true }] },
      { role: "assistant", content: "It is booked." },
    ],
    functions: [search, book].map(({ name }) => ({
      name,
      description: name,
      parameters: { type: "object", properties: {} },
    })),
  };

  it("replays the recorded calls, and is right if all were made", async () => {
    const [task] = tasksOf("complexfuncbench", [row]);
    const calls = [search, book].map(({ name, arguments: input }) => ({ tool: name, input }));
    expect(await played(task, calls)).toEqual([
      [true, undefined],
      [true, undefined],
    ]);
    const wrong = [{ tool: "Search_Flights", input: { from: "OSL" } }, ...calls.slice(1)];
    expect((await played(task, wrong))[0]).toEqual([false, "1 of 2 calls are missing"]);
  });
});

describe("recorded traces and texts", () => {
  const trace = {
    id: "t",
    steps: [
      {
        tool: "find",
        label: "a",
        input: {},
        refs: [],
        expect: {},
        output: { "the id": [{ n: 7 }] },
      },
      {
        tool: "news item",
        label: null,
        labels: ["x", "y"],
        input: { n: "⟦0⟧", text: "No. ⟦0⟧ of all" },
        refs: [{ name: "a", path: ["the id", 0, "n"] }],
        expect: { n: 7, text: "No. 7 of all" },
        output: { x: { k: 1 }, y: 2 },
      },
      {
        tool: "end",
        input: { all: "⟦0⟧" },
        refs: [{ name: "x", path: [] }],
        expect: { all: { k: 1 } },
        output: null,
      },
    ],
  };

  it("are played from their question alone, with every arm", async () => {
    const text = { id: "n", text: "It costs $152 (not $order). Run $HOME/bin." };
    const tasks = tasksOf("traces", [trace, text]);
    expect(tasks.map(({ family }) => family)).toEqual(["traces", "texts"]);
    const { model, close } = await modelNamed("scripted:exact", {});
    const cells = await Promise.all(
      tasks.flatMap((task) =>
        arms.map((arm) => playCell(task, arm, { model, contextTokens: 200_000 })),
      ),
    );
    await close();
    expect(cells.filter(({ isRight }) => !isRight)).toEqual([]);
    expect(cells).toHaveLength(2 * arms.length);
  });

  it("are wrong with other arguments", async () => {
    const [task] = tasksOf("traces", [trace]);
    const [first] = await played(task, [{ tool: "find", input: { a: 1 } }]);
    expect(first).toEqual([false, "find was not called as recorded"]);
  });
});

describe("tau-bench", () => {
  it("turns recorded answers with prices into control tasks", () => {
    const said = (content: string) => ({ role: "assistant", content });
    const price = "The flight costs $152, and the bag $50. Shall I book both of them?";
    const traj = [
      { role: "user", content: "Hi" },
      said("Hello."),
      said(price),
      said(`${price} $1`),
    ];
    writeFileSync(join(folder, "run.json"), JSON.stringify([{ task_id: 3, reward: 1, traj }]));
    const tasks = setTasks({ name: "tau", folder, most: 10 });
    expect(tasks.map(({ id, family }) => [id, family])).toEqual([
      ["tau-3-0", "texts"],
      ["tau-3-1", "texts"],
    ]);
    expect(tasks[0]?.turns[0]?.user).toContain(`<text>\n${price}\n</text>`);
  });
});
