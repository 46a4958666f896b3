import * as limits from "../../../../src/limits.ts";
import {
  type ListedPlanRecord,
  type PlanRecord,
  type ShownRun,
  isOpenRun,
  type RunRecord,
  stateIn,
} from "../plan/plan-record.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { resultOf, resultParts } from "../run/plan-turn.ts";
import { charsOf, json, type VariableStore, later } from "../../../../src/internal.ts";
import { type Plan, type PlanCall, toolInputs } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import * as z from "zod";

type CallView = z.infer<ReturnType<typeof callView>>;
export type RunView = z.infer<ReturnType<typeof runView>>;
export type ListedPlan = z.infer<ReturnType<typeof planListed>>;
export type PlanView = z.infer<ReturnType<typeof planView>>;

/** A plan with its runs. A call's `status` is that of the newest run. */
export async function viewOf(
  record: PlanRecord,
  plans: PlanStore,
  store: VariableStore,
): Promise<PlanView> {
  const { plan } = record;
  const runs = plans.runsOf(record.id, limits.maxPageChars);
  const newest = runs.at(-1)?.record;
  const listed = listedOf({ ...record, ...plan, ...json.compact({ newest }) });
  const inputs = plan.calls.map(({ parameters }) => parameters);
  const calls = listed.calls.map((call, index) => ({ ...call, input: inputs[index] ?? {} }));
  // JSON Schema is JSON.
  const input = plan.input as Json | undefined;
  const views = await runViews(plan, runs, store);
  return { ...listed, ...json.compact({ input }), calls, runs: views };
}

/** Views of the runs. Partial results of open runs are included for the newest first, as long as they fit. */
async function runViews(
  plan: Plan,
  runs: readonly ShownRun[],
  store: VariableStore,
): Promise<RunView[]> {
  const views: RunView[] = [];
  let room: number = limits.maxPageChars;
  for (const run of runs.toReversed()) {
    const view = await runViewOf(plan, run, store, Math.min(room, limits.maxRecordBytes));
    if (isOpenRun(run.record)) room -= charsOf(view.state, room);
    views.push(view);
  }
  return views.toReversed();
}

/** A plan in a list, without values. */
export function listedOf(record: ListedPlanRecord): ListedPlan {
  const { id, status, name, format, agent, after, createdAt, tainted, newest, omitted } = record;
  return {
    id,
    status,
    ...json.compact({ name }),
    format,
    agent,
    ...(tainted === true ? { tainted } : {}),
    createdAt,
    calls: record.calls.map((call) => {
      const { outputPath, gates } = call;
      const before = Object.hasOwn(after, call.id) ? after[call.id] : [];
      return {
        ...callViewOf(call, newest),
        ...json.compact({ _outputPath: outputPath }),
        ...(gates === undefined ? {} : { _after: [...gates] }),
        after: [...(before ?? [])],
      };
    }),
    findings: [...(record.notes ?? [])],
    ...(omitted === true ? { omitted } : {}),
  };
}

/** A run. The state of an open run is its partial result, of at most `maxBytes`. */
export async function runViewOf(
  plan: Plan,
  { record, input, state }: ShownRun,
  store: VariableStore,
  maxBytes: number = limits.maxRecordBytes,
): Promise<RunView> {
  const { id, status, createdAt, error } = record;
  const isOmitted = input === undefined;
  const isOpen = isOpenRun(record) && !isOmitted;
  const soFar = async () => resultOf(await resultParts(store, { plan, run: id, maxBytes }));
  return {
    id,
    status,
    createdAt,
    input: input ?? null,
    state: state ?? (isOpen ? await soFar() : {}),
    calls: isOmitted
      ? []
      : plan.calls.map((call) => {
          const { output } = stateIn(record, call.id);
          return { ...callViewOf(call, record), ...json.compact({ output }) };
        }),
    ...json.compact({ error }),
    ...(isOmitted ? { omitted: true } : {}),
  };
}

function callViewOf(
  { id, tool }: Pick<PlanCall, "id" | "tool">,
  run: RunRecord | undefined,
): CallView {
  const { status, reason, gate, asked } =
    run === undefined ? { status: "waiting" as const } : stateIn(run, id);
  return {
    _id: id,
    _tool: tool,
    status,
    ...json.compact({ reason, gate, asked }),
  };
}

/** Schemas of plans over HTTP. Views use only their types; responses are not validated. */

export const from = z
  .string()
  .min(1)
  .describe("A variable, as `$report`, or the id of an answer: the calls that led to it");

const callView = later(() =>
  z.strictObject({
    _id: z.string(),
    _tool: z.string(),
    status: z.enum(["waiting", "running", "done", "failed", "skipped"]),
    reason: z.string().optional().describe("Why it waits for approval, failed or was skipped"),
    gate: z.string().optional().describe("The gate to approve before it continues"),
    asked: z.string().optional().describe("The input to approve"),
  }),
);

const runCallView = later(() =>
  callView().extend({
    output: toolInputs.anyJson
      .readonly()
      .optional()
      .describe("Its result: a value of up to 1,000 characters as JSON, else a handle"),
  }),
);

const plannedCallView = later(() =>
  callView().extend({
    _outputPath: z.string().optional(),
    _after: z.array(z.string()).optional().describe("Gates that it waits for"),
    after: z.array(z.string()).describe("Ids of the calls that it depends on"),
    input: toolInputs.anyJson.readonly().describe("Parameters, as they were written"),
  }),
);

export const runView = later(() =>
  z.strictObject({
    id: z.string(),
    status: z.enum(["running", "waiting", "done", "failed", "cancelled"]),
    createdAt: z.iso.datetime(),
    input: toolInputs.anyJson,
    state: toolInputs.anyJson.readonly().describe("Results, partial while the run is open"),
    calls: z.array(runCallView()),
    error: z.string().optional(),
    omitted: z
      .literal(true)
      .optional()
      .describe("Set if input, state and calls are omitted because the plan has too many runs"),
  }),
);

export const planView = later(() =>
  z.strictObject({
    id: z.string(),
    status: z.enum(["proposed", "approved", "running", "done", "failed", "cancelled"]),
    name: z.string().optional(),
    format: z.enum(["json", "capability-xml", "template"]),
    agent: z.string(),
    tainted: z.literal(true).optional().describe("Set if its author had read untrusted data"),
    createdAt: z.iso.datetime(),
    input: toolInputs.anyJson.readonly().optional().describe("JSON Schema of a run's input"),
    calls: z.array(plannedCallView()),
    findings: z.array(
      z.strictObject({
        code: z.string(),
        call: z.string().optional(),
        at: z.string().optional().describe("Where in the call"),
        message: z.string(),
        line: z.int().min(1).optional(),
        column: z.int().min(1).optional(),
      }),
    ),
    runs: z.array(runView()).describe("Oldest first"),
  }),
);

export const recomputation = later(() =>
  z.strictObject({
    calls: z.array(
      z.strictObject({
        _id: z.string().describe("The variable that it makes again"),
        _tool: z.string(),
        after: z.array(z.string()).describe("The calls that it depends on"),
        effects: z.enum(["none", "idempotent", "once"]),
        approval: z.enum(["always", "perhaps"]).optional().describe("Whether a person is asked"),
      }),
    ),
    left: z.array(z.strictObject({ name: z.string(), reason: z.string() })),
  }),
);

export const planListed = later(() =>
  planView()
    .omit({ runs: true, input: true })
    .extend({
      calls: z.array(plannedCallView().omit({ input: true })),
      omitted: z
        .literal(true)
        .optional()
        .describe("Set if the calls are omitted because the list is too long"),
    }),
);

export const planList = later(() => z.strictObject({ plans: z.array(planListed()) }));

/** Data of the parts `data-call` and `data-run` in a run's stream. */
export const callPart = later(() =>
  z.strictObject({
    call: z.string(),
    tool: z.string(),
    ...runCallView().pick({ status: true, reason: true, gate: true, asked: true, output: true })
      .shape,
  }),
);
export const runPart = later(() =>
  z.strictObject({
    run: z.string(),
    status: runView().shape.status,
    state: toolInputs.anyJson.describe("Handles replace long and guarded values"),
    outputs: z.record(z.string(), toolInputs.anyJson).describe("Results by call id"),
    error: z.string().optional(),
  }),
);
