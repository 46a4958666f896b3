import type { ToolSet } from "ai";
import * as z from "zod";
import {
  type CheckedPlan,
  checkPlan,
  type PlanContext,
} from "../../packages/plans/src/plan/check-plan.ts";
import type { Plan } from "../../src/turn/plan.ts";
import { PlanRun, type PlanRunOptions } from "../../packages/plans/src/plan/plan-run.ts";
import {
  nameInRun,
  type CallState,
  type RunRecord,
} from "../../packages/plans/src/plan/plan-record.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { ScopedStore } from "../../src/tool/scoped-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { wrapTools } from "../../src/tool/tool-call.ts";
import type { Effects } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { toolOf } from "./tool-of.ts";

/** Returns the stored record of a run that starts. */
export const runRecord = (id: string, about: Partial<RunRecord> = {}): RunRecord => ({
  id,
  plan: "p",
  status: "running",
  calls: {},
  gates: {},
  keep: true,
  needs: [],
  createdAt: "2026-11-22T00:00:00.000Z",
  ...about,
});

/** Checks a plan. Throws its findings if it cannot run. */
export async function checkedPlan(plan: Plan, context: PlanContext): Promise<CheckedPlan> {
  const { checked, findings } = await checkPlan(plan, context);
  if (checked === undefined) throw new Error(JSON.stringify(findings.list()));
  return checked;
}

type Given = Pick<PlanRunOptions, "checked" | "record" | "store" | "tools">;

/**
 * Creates a run that is not stopped and whose record is not stored, with calls whose effects are "once",
 * unless `given` differs.
 */
export const planRun = (given: Given & Partial<PlanRunOptions>): PlanRun =>
  new PlanRun({
    effectsOf: () => "once",
    keyPrefix: "c",
    signal: new AbortController().signal,
    commit: (work) => void work(),
    ...given,
  });

/** The tools of `test/cases/workflows/plans.json`, and one that says where it writes. */
export const specified: ToolSet = {
  echo: toolOf({ value: z.any() }, ({ value }) => value as Json),
  add: toolOf({ a: z.number(), b: z.number() }, ({ a, b }) => a + b),
  verify: toolOf({ userId: z.string() }, ({ userId: id }) =>
    id === "stranger" ? { _outputPath: "†state.user.failed", value: { id } } : { id },
  ),
  choose: toolOf({ at: z.string(), value: z.any() }, ({ at, value }) => ({
    _outputPath: at.startsWith("[") ? `$state${at}` : `†state.${at}`,
    value: value as Json,
  })),
  fail: toolOf({}, (): string => {
    throw new Error("boom");
  }),
};

type Setting = { readonly tools?: ToolSet; readonly effects?: Effects };

/** A conversation in which plans run. Only `store` and `records` survive a crash. */
export class Runs {
  readonly store = new MemoryStore();
  readonly records = new Map<string, RunRecord>();
  readonly told: (readonly [string, CallState["status"]])[] = [];
  readonly #tools: ToolSet;
  readonly #effects: Effects;
  #count = 0;

  constructor({ tools = specified, effects = "once" }: Setting = {}) {
    this.#tools = tools;
    this.#effects = effects;
  }

  async run(plan: Plan, input: Json = {}): Promise<RunRecord> {
    const id = `run_${++this.#count}`;
    this.records.set(id, runRecord(id));
    await this.store.save({ name: nameInRun(id, "input", []), value: input, run: id });
    return this.goOn(plan, id);
  }

  async goOn(plan: Plan, id: string, signal = new AbortController().signal): Promise<RunRecord> {
    const { store } = this;
    const state = lookupInStore(new ScopedStore(store));
    const checked = await checkedPlan(plan, { tools: this.#tools, isKnown: () => true, state });
    const record = this.records.get(id);
    if (record === undefined) throw new Error("There is no such run.");
    const run = planRun({
      checked,
      record,
      store,
      tools: await wrapTools(this.#tools, { store, syntaxes: ["dagger"], owner: id }),
      effectsOf: () => this.#effects,
      signal,
      commit: (work) => void this.records.set(id, work()),
      onCall: (call, { status }) => void this.told.push([call, status]),
    });
    return run.run();
  }

  async stateOf(id: string): Promise<Json> {
    return ((await this.store.read(nameInRun(id, "state", []))) ?? {}) as Json;
  }
}
