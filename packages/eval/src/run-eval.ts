import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { version } from "../../../src/version.ts";
import { armsNamed } from "./arms.ts";
import {
  type Budget,
  type ModelEnvironment,
  modelNamed,
  NOMINAL,
  priceIn,
  RunStopped,
} from "./models.ts";
import { markdownReport, shownValue, writeReport } from "./report.ts";
import { summarize } from "./results.ts";
import { nestfulTasks } from "./nestful.ts";
import { ownTasks } from "./own-tasks.ts";
import type { Task } from "./task.ts";
import { type Cell, keyOf, playCell } from "./play-cell.ts";

const HELP = `byref eval: does your model work better with references? Needs a key of your own.

  byref eval --model MODEL     plays the tasks on all arms, and writes tables and a chart

MODEL is openai-compatible:NAME, anthropic:NAME or openai:NAME, with MODEL_API_KEY and, where it is not the
provider's own, MODEL_BASE_URL in the environment. scripted:exact and scripted:sloppy need no key, and measure
nothing but the evaluation itself.

  --quick                      small sizes, 3 tasks of each kind: a first impression
  --count N                    tasks of each kind (default: 10), and of the set (default: 100)
  --seed N                     the first seed (default: 1)
  --budget USD                 stops before more is spent (default: 5)
  --price IN,CACHED,OUT        dollars for a million tokens, as its provider lists them
  --arms A,B                   only these of value, cap, offload, reference and sql
  --set nestful=FOLDER         also NESTFUL in this folder
  --only-sets                  no tasks but those of --set
  --concurrency N              tasks at the same time (default: 4)
  --out FOLDER                 where results are written (default: eval-results/MODEL)

A stopped run continues where it stopped when you start it again.`;

const OPTIONS = {
  model: { type: "string" },
  quick: { type: "boolean" },
  count: { type: "string" },
  seed: { type: "string" },
  budget: { type: "string" },
  price: { type: "string" },
  arms: { type: "string" },
  set: { type: "string" },
  "only-sets": { type: "boolean" },
  concurrency: { type: "string" },
  out: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** Output of the evaluation, and its settings. */
export interface EvalContext {
  readonly env: ModelEnvironment;
  readonly write: (text: string) => void;
  readonly log: (line: string) => void;
}

/** Runs `byref eval` with these arguments. Returns the exit code. Throws an error that says what is missing. */
export async function runEval(args: readonly string[], context: EvalContext): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help === true) {
    context.write(HELP);
    return 0;
  }
  const options = optionsIn(values);
  const { out, model: name, price, arms, tasks, about } = options;
  const model = await modelNamed(name, context.env);
  const path = join(out, "cells.ndjson");
  const log = openLog(path, name);
  const spent = [...log.values()].reduce((sum, { cost }) => sum + cost, 0);
  const budget: Budget = { maximum: options.budget, price, spent, reserved: 0 };
  const open = tasks.flatMap((task) =>
    arms
      .filter((arm) => !log.has(keyOf({ task: task.id, arm: arm.name })))
      .map((arm) => ({ task, arm })),
  );
  const stopped = await inParallel(open, options.concurrency, async ({ task, arm }) => {
    const cell = await playCell(task, arm, { ...options, model, budget });
    appendFileSync(path, `${JSON.stringify(cell)}\n`);
    log.set(keyOf(cell), cell);
    context.log(
      `${cell.isRight ? "ok  " : "FAIL"} ${cell.task}, ${cell.arm}; ${shownValue(budget.spent, "dollars")} so far`,
    );
  });
  const ids = new Set(tasks.map(({ id }) => id));
  const own = [...log.values()].filter(
    ({ task, arm }) => ids.has(task) && arms.some((one) => one.name === arm),
  );
  const results = summarize(stopped === undefined ? about : { ...about, stopped }, own);
  writeReport(out, results);
  context.write(markdownReport(results));
  context.log(`Written to ${out}: results.md, results.json and right.svg, of ${own.length} cells.`);
  if (stopped !== undefined) context.log(`Stopped: ${stopped} Start it again to continue.`);
  return stopped === undefined ? 0 : 1;
}

function optionsIn(values: ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"]) {
  const { model } = values;
  if (model === undefined) throw new Error(`--model is missing.\n\n${HELP}`);
  const isQuick = values.quick === true;
  const isScripted = model.startsWith("scripted:");
  if (values.price === undefined && !isScripted)
    throw new Error(`A run of ${model} has a budget: add its --price IN,CACHED,OUT.`);
  const price = values.price === undefined ? NOMINAL : priceIn(values.price);
  const number = (key: "count" | "seed" | "budget" | "concurrency", otherwise: number) => {
    const text = values[key];
    const value = text === undefined ? otherwise : Number(text);
    if (text?.trim() === "" || !(value >= 0))
      throw new Error(`--${key} needs a number, not ${text}.`);
    return value;
  };
  const count = number("count", isQuick ? 3 : 10);
  const seed = number("seed", 1);
  const [set, folder = ""] = (values.set ?? "").split(/=(.*)/u);
  if (values.set !== undefined && (set !== "nestful" || folder === "")) {
    throw new Error(`--set needs nestful=FOLDER, not ${values.set}.`);
  }
  const tasks: readonly Task[] = [
    ...(values["only-sets"] === true ? [] : ownTasks({ isQuick, count, seed })),
    ...(folder === "" ? [] : nestfulTasks(folder).slice(0, number("count", isQuick ? 10 : 100))),
  ];
  const about = {
    byref: version,
    model,
    date: new Date().toISOString().slice(0, 10),
    seed,
    count,
    isQuick,
    sets: folder === "" ? [] : ["nestful"],
    price: { ...price, of: values.price === undefined ? "nominal" : "as given with --price" },
  };
  return {
    model,
    tasks,
    arms: armsNamed(values.arms?.split(",").map((word) => word.trim())),
    budget: number("budget", isScripted ? Number.POSITIVE_INFINITY : 5),
    price,
    concurrency: Math.max(1, number("concurrency", 4)),
    out: values.out ?? join("eval-results", model.replaceAll(/[^\w.-]+/gu, "-")),
    about,
  };
}

/**
 * Reads the finished cells of a file, by `keyOf`, so that a run can go on, or creates it. A last line that was cut off is
 * removed. Throws if the file is of another model.
 */
function openLog(path: string, model: string): Map<string, Cell> {
  const [head, ...lines] = wholeLines(path);
  const own = JSON.stringify({ model });
  if (head === undefined) {
    mkdirSync(dirname(path), { recursive: true });
    appendFileSync(path, `${own}\n`);
  } else if (head !== own) {
    throw new Error(`${path} belongs to another run: ${head}. Choose another folder with --out.`);
  }
  // `runEval` wrote the lines.
  const cells = lines.map((line) => JSON.parse(line) as Cell);
  return new Map(cells.map((cell) => [keyOf(cell), cell]));
}

/** Returns the lines that end with a line break, and cuts off what follows them. */
function wholeLines(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf("\n") + 1;
  if (end < bytes.length) truncateSync(path, end);
  const text = bytes.subarray(0, end).toString("utf8");
  return text === "" ? [] : text.slice(0, -1).split("\n");
}

/**
 * Does the work of all items in their order, so that a run that stops has all arms of a task. Returns why it
 * stopped early.
 */
async function inParallel<Item>(
  items: Item[],
  concurrency: number,
  play: (item: Item) => Promise<void>,
): Promise<string | undefined> {
  let stopped: string | undefined;
  const work = async () => {
    for (let next = items.shift(); next && stopped === undefined; next = items.shift()) {
      try {
        await play(next);
      } catch (error) {
        if (!(error instanceof RunStopped)) throw error;
        stopped ??= error.message;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return stopped;
}
