import type { UIMessageChunk } from "ai";
import { codeIn } from "../../../../src/errors.ts";
import type { StoredRun } from "../plan/plan-record.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import type { PlanRun } from "../plan/plan-run.ts";
import {
  type NewRun,
  type PlanTurnOptions,
  recoverRun,
  resumeRun,
  type RunDecision,
  startRun,
} from "../run/plan-turn.ts";
import { plansOf } from "./plans-of.ts";
import {
  attempt,
  decidedEvent,
  type ObservedTurn,
  recordTools,
  type TurnStart,
  type contexts,
} from "../../../../src/internal-edge.ts";
import type { RecoveredLog, eventLogs } from "../../../../src/internal-tool.ts";
import { json } from "../../../../src/internal.ts";
import type { Identity } from "../../../../src/runtime.ts";

export interface RunStart extends TurnStart {
  readonly planFormats: readonly PlanFormat[];
  /** Receives the run as soon as it accepts decisions. */
  readonly onRun: (run: PlanRun) => void;
}

/** Runs a plan: writes its chunks to the log and adds its events. */
export function attemptRun(
  context: contexts.ConversationContext,
  { conversation, ...newRun }: NewRun & { readonly conversation: string },
  start: RunStart & { readonly asker: Identity },
): Promise<StoredRun> {
  const run = newRun.id;
  const onBegin = () => {
    const { principal } = start.asker;
    const by = json.compact({ principal });
    start.data.events.add({ type: "run.started", plan: newRun.plan.id, run, ...by });
    context.onTurnBegin();
  };
  return attemptIn(context, { ...start, conversation, run }, (options) =>
    startRun({ ...options, onBegin }, newRun),
  );
}

/** Continues a run that has waited for a decision. */
export function attemptResumed(
  context: contexts.ConversationContext,
  { conversation, ...decision }: RunDecision & { readonly conversation: string },
  start: RunStart & { readonly decider: Identity },
): Promise<StoredRun> {
  const { run } = decision;
  const onBegin = () => {
    for (const [gate, { approved }] of decision.decisions) {
      start.data.events.add(decidedEvent({ run, approval: gate }, approved, start.decider));
    }
    start.data.events.flush();
    context.onTurnBegin();
  };
  return attemptIn(context, { ...start, conversation, run }, (options) =>
    resumeRun({ ...options, onBegin }, decision),
  );
}

/** Continues a run that a crash interrupted. */
export function attemptRecovered(
  context: contexts.ConversationContext,
  recoveredLog: RecoveredLog,
  start: RunStart,
): Promise<StoredRun> {
  const { journal, events } = start.data;
  const { id: run = "", conversation = "", trace: traceparent } = journal.head() ?? {};
  events.add({ type: "run.recovered", run });
  const about = { conversation, traceparent, run, recovered: true } as const;
  return attemptIn(context, { ...start, ...about }, (options) => {
    context.onTurnBegin();
    return recoverRun(options, recoveredLog);
  });
}

type AttemptedRun = RunStart &
  Pick<ObservedTurn, "conversation" | "recovered"> & { readonly run: string };

function attemptIn(
  context: contexts.ConversationContext,
  { run, onRun, planFormats, ...start }: AttemptedRun,
  work: (options: Omit<PlanTurnOptions, "onBegin">) => Promise<StoredRun>,
): Promise<StoredRun> {
  const { events } = start.data;
  const plans = plansOf(start.data);
  const emit = recordCalls(run, (event) => events.add(event));
  const ended = ({ record }: StoredRun): eventLogs.NewEvent => {
    const { id, plan, status } = record;
    return { type: ENDS[status], run: id, plan };
  };
  // Events of an agent called inside the run belong to the run.
  const add = ({ type, tool = "", toolCallId = "", code }: eventLogs.NewEvent) =>
    events.add({ type, run, tool, toolCallId, ...json.compact({ code }) });
  const emitInner = () => recordTools({ add }, run, []);
  return attempt(context, { ...start, turn: run, kind: "run", emit, emitInner, ended }, (options) =>
    work({ ...options, plans, planFormats, onRun }),
  );
}

const ENDS = {
  running: "run.waiting",
  waiting: "run.waiting",
  done: "run.done",
  failed: "run.failed",
  cancelled: "run.cancelled",
} as const satisfies Record<StoredRun["record"]["status"], eventLogs.EventType>;

/** Adds an event for each call and outcome among the chunks that the run emits. */
function recordCalls(run: string, add: (event: eventLogs.NewEvent) => void) {
  return (chunk: UIMessageChunk) => {
    if (chunk.type !== "data-call" || !json.isObject(chunk.data)) return;
    const { call, tool, status, reason = "" } = chunk.data;
    const about = { run, tool: String(tool), toolCallId: `${run}/${String(call)}` };
    if (status === "running") add({ type: "tool.called", ...about });
    if (status === "done") add({ type: "tool.done", ...about });
    if (status === "failed") add({ type: "tool.failed", ...about, code: codeIn(String(reason)) });
  };
}
