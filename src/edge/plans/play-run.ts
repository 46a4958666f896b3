import type { UIMessageChunk } from "ai";
import { codeIn } from "../../errors.ts";
import type { StoredRun } from "../../plan/plan-store.ts";
import type { PlanRun } from "../../plan/run-plan.ts";
import { isObject } from "../../value/json.ts";
import type { EventType, NewEvent } from "../../turn/log/event-log.ts";
import type { Remains } from "../../turn/log/log-lines.ts";
import {
  type NewRun,
  type PlanTurnOptions,
  recoverRun,
  resumeRun,
  type RunDecision,
  startRun,
} from "../../turn/plans/plan-turn.ts";
import type { TurnOptions } from "../../turn/turn-options.ts";
import type { ConversationData } from "../conversation-data.ts";
import { plansOf } from "./plans-of.ts";
import { play, type TurnRun } from "../turns/play.ts";
import type { Watched } from "../telemetry/telemetry.ts";
import { recordTools } from "../turns/tool-events.ts";

/** A run's place in the queue. */
export interface RunTurn extends TurnRun {
  /** Told of the run when it can be decided on. */
  readonly onRun: (run: PlanRun) => void;
}

/** Runs a plan in a conversation; its chunks go to the log, and what happened to the events. */
export function playRun(
  data: ConversationData,
  { conversation, ...start }: NewRun & { readonly conversation: string },
  run: RunTurn,
): Promise<StoredRun> {
  const { events } = data;
  const about = { plan: start.plan.id, run: start.id };
  return playIn(data, { ...run, conversation, run: start.id }, (options) =>
    startRun(
      {
        ...options,
        onBegin: () => {
          events.add({ type: "run.started", ...about });
          run.onBegin();
        },
      },
      start,
    ),
  );
}

/** Goes on with a run that has waited for a person. */
export function playOn(
  data: ConversationData,
  { conversation, ...decision }: RunDecision & { readonly conversation: string },
  run: RunTurn,
): Promise<StoredRun> {
  return playIn(data, { ...run, conversation, run: decision.run }, (options) =>
    resumeRun({ ...options, onBegin: run.onBegin }, decision),
  );
}

/** Goes on with a run that a crash cut off. */
export function playAgain(
  data: ConversationData,
  remains: Remains,
  run: RunTurn,
): Promise<StoredRun> {
  const { id = "", conversation = "" } = data.journal.head() ?? {};
  data.events.add({ type: "run.recovered", run: id });
  return playIn(data, { ...run, conversation, run: id, recovered: true }, (options) => {
    run.onBegin();
    return recoverRun(options, remains);
  });
}

type Played = RunTurn & Pick<Watched, "conversation" | "recovered"> & { readonly run: string };

function playIn(
  data: ConversationData,
  { run, onRun, ...turn }: Played,
  work: (options: Omit<PlanTurnOptions, "onBegin">) => Promise<StoredRun>,
): Promise<StoredRun> {
  const { events } = data;
  const plans = plansOf(data);
  const emit = recordCalls(run, (event) => events.add(event));
  const ended = ({ record }: StoredRun): NewEvent => {
    const { id, plan, status } = record;
    return { type: ENDS[status], run: id, plan };
  };
  const start = (options: TurnOptions) => work({ ...options, plans, onRun });
  // What is asked inside of a run is the run's.
  const add = ({ type, tool = "", toolCallId = "", code }: NewEvent) =>
    events.add({ type, run, tool, toolCallId, ...(code === undefined ? {} : { code }) });
  const emitInner = () => recordTools({ add }, run, []);
  return play(data, { ...turn, turn: run, kind: "run", emit, emitInner, ended }, start);
}

const ENDS = {
  running: "run.waiting",
  waiting: "run.waiting",
  done: "run.done",
  failed: "run.failed",
  cancelled: "run.cancelled",
} as const satisfies Record<StoredRun["record"]["status"], EventType>;

/** Notes which tools a run calls and what comes of it, from the chunks that it emits. */
function recordCalls(run: string, add: (event: NewEvent) => void) {
  return (chunk: UIMessageChunk) => {
    if (chunk.type !== "data-call" || !isObject(chunk.data)) return;
    const { call, tool, status, reason = "" } = chunk.data;
    const about = { run, tool: String(tool), toolCallId: `${run}/${String(call)}` };
    if (status === "running") add({ type: "tool.called", ...about });
    if (status === "done") add({ type: "tool.done", ...about });
    if (status === "failed") add({ type: "tool.failed", ...about, code: codeIn(String(reason)) });
  };
}
