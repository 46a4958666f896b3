import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { version } from "../../../../src/version.ts";
import type { Arm } from "../arms/arm.ts";
import { armsNamed } from "../arms/arms.ts";
import { cached } from "../models/answer-cache.ts";
import { Budget } from "../models/budget.ts";
import { around } from "../models/model-middleware.ts";
import { timed } from "../models/metered.ts";
import { modelNamed, type ModelEnvironment, type NamedModel } from "../models/model-named.ts";
import { Pace, patient } from "../models/patient.ts";
import { PRICES_OF } from "../models/prices.ts";
import { type Variant, variantIn, varied } from "../models/variant.ts";
import { compareResults } from "../report/compare-results.ts";
import { markdownReport } from "../report/markdown-report.ts";
import type { About } from "../report/results.ts";
import { summarize } from "../report/summarize.ts";
import { writeReport } from "../report/write-report.ts";
import { setTasks } from "../sets/set-tasks.ts";
import { ownTasks } from "../tasks/own-tasks.ts";
import type { Task } from "../tasks/task.ts";
import { CellLog } from "./cell-log.ts";
import { estimateOf } from "./estimate.ts";
import { evalCommand, type EvalOptions, HELP } from "./eval-options.ts";
import { playCell } from "./play-cell.ts";
import { shownEstimate, shownProgress } from "./progress.ts";
import { type RunEnd, runCells } from "./run-cells.ts";

/** Output of the evaluation, and its settings. */
export interface EvalContext {
  readonly env: ModelEnvironment;
  /** The results. */
  readonly write: (text: string) => void;
  /** Progress. */
  readonly log: (line: string) => void;
}

/** Above it a run needs a budget. */
const MAX_UNASKED_DOLLARS = 5;

/** Runs `byref eval` with these arguments. Returns the exit code. */
export async function runEval(args: readonly string[], context: EvalContext): Promise<number> {
  const command = evalCommand(args, PRICES_OF);
  if (command.kind === "help") context.write(HELP);
  else if (command.kind === "compare") {
    context.write(compareResults(command.first, command.second));
  } else return runModel(command.options, context);
  return 0;
}

async function runModel(options: EvalOptions, context: EvalContext): Promise<number> {
  const named = await modelNamed(options.model, context.env);
  try {
    return await runNamed(named, options, context);
  } finally {
    await named.close();
  }
}

async function runNamed(
  named: NamedModel,
  options: EvalOptions,
  context: EvalContext,
): Promise<number> {
  const arms = armsNamed(options.arms);
  const tasks = tasksOf(options);
  if (!(await isAffordable(tasks, arms, { options, context }))) return 2;
  if (options.onlyEstimates) return 0;
  const variant = options.variant === undefined ? undefined : readVariant(options.variant);
  const log = CellLog.open(join(options.out, "cells.ndjson"), {
    model: options.model,
    ...(variant === undefined ? {} : { variant: variant.name, texts: digestOf(variant) }),
  });
  const end = await playAll(tasks, arms, { named, options, context, log, variant });
  const keys = new Set(tasks.map(({ id }) => id));
  const own = log.cells.filter(
    ({ task, arm }) => keys.has(task) && arms.some(({ name }) => name === arm),
  );
  const results = summarize(aboutRun(options, variant, end), own);
  writeReport(options.out, results);
  context.write(markdownReport(results));
  context.log(`Written to ${options.out}: results.html, results.md, results.json, charts as SVG.`);
  if (end.stopped !== undefined) context.log(`Stopped: ${end.stopped} Start it again to continue.`);
  return end.stopped === undefined ? 0 : 1;
}

function tasksOf({ isQuick, count, setCount, seed, sets, onlySets }: EvalOptions): readonly Task[] {
  const own = onlySets ? [] : ownTasks({ isQuick, count, seed });
  return [...own, ...sets.flatMap((set) => setTasks({ ...set, most: setCount }))];
}

interface Affording {
  readonly options: EvalOptions;
  readonly context: EvalContext;
}

async function isAffordable(
  tasks: readonly Task[],
  arms: readonly Arm[],
  { options, context }: Affording,
): Promise<boolean> {
  const { model, price, contextTokens, budget } = options;
  const estimate = await estimateOf(tasks, arms, { price, contextTokens });
  context.log(shownEstimate(estimate));
  if (model.startsWith("scripted:") || options.onlyEstimates) return true;
  if (price === undefined && Number.isFinite(budget)) {
    context.log(
      "A budget needs a price: the table has none of this model. Add --price IN,CACHED,OUT.",
    );
    return false;
  }
  const isDear = (estimate.cost ?? 0) > MAX_UNASKED_DOLLARS && !Number.isFinite(budget);
  if (isDear) context.log("Set the most that it may cost with --budget USD, or try --quick.");
  return !isDear;
}

interface Playing extends Affording {
  readonly named: NamedModel;
  readonly log: CellLog;
  readonly variant: Variant | undefined;
}

async function playAll(
  tasks: readonly Task[],
  arms: readonly Arm[],
  { named, options, context, log, variant }: Playing,
): Promise<RunEnd> {
  const { price, contextTokens, concurrency, cache, model: name } = options;
  const spent = log.cells.reduce((sum, { cost = 0 }) => sum + cost, 0);
  const budget = new Budget(options.budget, price, spent);
  const sent = spending(patient(timed(named.model, Date.now), new Pace(CLOCK)), budget);
  const kept = cached(sent, { folder: cache, model: `${name} ${named.endpoint}` });
  const model = variant === undefined ? kept : varied(kept, variant);
  const began = Date.now();
  return runCells({
    tasks,
    arms,
    log,
    concurrency,
    play: (task, arm) => playCell(task, arm, { model, price, contextTokens }),
    onProgress: (progress) =>
      context.log(shownProgress(progress, { elapsedMs: Date.now() - began, spent: budget.spent })),
  });
}

const CLOCK = {
  now: Date.now,
  sleep: async (ms: number) => {
    await sleep(ms);
  },
  jitter: Math.random,
};

/** Counts what is sent. Answers from the cache cost nothing. */
function spending(model: LanguageModelV4, budget: Budget): LanguageModelV4 {
  return around(model, async ({ doGenerate, params }) => {
    const release = budget.reserve(Math.ceil(JSON.stringify(params.prompt).length / 4));
    try {
      const result = await doGenerate();
      const { inputTokens, outputTokens } = result.usage;
      budget.spend({
        input: inputTokens.total ?? 0,
        cached: inputTokens.cacheRead ?? 0,
        output: outputTokens.total ?? 0,
      });
      return result;
    } finally {
      release();
    }
  });
}

function readVariant(path: string): Variant {
  return variantIn(readFileSync(path, "utf8"));
}

function digestOf(variant: Variant): string {
  return createHash("sha256").update(JSON.stringify(variant)).digest("hex").slice(0, 16);
}

function aboutRun(options: EvalOptions, variant: Variant | undefined, end: RunEnd): About {
  const { model, seed, count, isQuick, sets, price } = options;
  return {
    byref: version,
    model,
    date: new Date().toISOString().slice(0, 10),
    ...(variant === undefined ? {} : { variant: variant.name }),
    seed,
    count,
    isQuick,
    sets: sets.map(({ name }) => name),
    ...(price === undefined ? {} : { price }),
    ...end,
  };
}
