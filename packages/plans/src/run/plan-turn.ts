import { ByrefError, codeIn, publicTextOf } from "../../../../src/errors.ts";
import { inputLabels } from "../plan/plan-input.ts";
import { gatesIn, nothingWaits, waitsFor } from "../plan/gates.ts";
import {
  type PlanRecord,
  type PlanStatus,
  type StoredRun,
  type CallState,
  type GateDecision,
  isOpenRun,
  type RunRecord,
  closedCalls,
  stateIn,
  nameInRun,
} from "../plan/plan-record.ts";
import { PlanRun } from "../plan/plan-run.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { type OpenedPlan, openPlan } from "./open-plan.ts";
import { commitOutcome, restoreResult, resultsGone } from "./run-outcome.ts";
import type { Attempt, eventLogs } from "../../../../src/internal-tool.ts";
import { json, type stores, type VariableStore } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** A run's attempt in the queue of turns, and what records the run. */
export interface RunOptions {
  readonly attempt: Attempt;
  readonly plans: PlanStore;
  readonly planFormats: readonly PlanFormat[];
  /** The conversation's events. */
  readonly events: Pick<eventLogs.EventLog, "add" | "flush">;
  /** Called before the run is written, in the same commit. */
  readonly onBegin: () => void;
  /** Called with the run when it continues and accepts decisions. */
  readonly onRun: (run: PlanRun) => void;
}

export interface NewRun {
  readonly plan: PlanRecord;
  readonly id: string;
  readonly input: Json;
  /** True if the conversation receives the run's result. */
  readonly keep: boolean;
  /** False for an input of a stranger. */
  readonly isTrusted: boolean;
  /** Continues the failed run of this id: its calls that are done are not called again. */
  readonly retries: boolean;
}

/**
 * Runs a plan as a turn of another kind, with its own log and its place in the journal. Rejects with
 * `invalid_plan` if the plan cannot run any more, and if the storage fails; to retry, also with `conflict`,
 * and with `outcome_unknown` if a call may have had its effect. Failures of calls are in the record.
 */
export async function startRun(options: RunOptions, start: NewRun): Promise<StoredRun> {
  const { plans, attempt, events } = options;
  const { store, now, asker } = attempt.context;
  const { plan, id, input, keep, isTrusted, retries } = start;
  // The run was queued; the plan may be cancelled meanwhile, and until it begins.
  const requireStill = () => requireApproved({ id: plan.id, status: plans.statusOf(plan.id) });
  requireStill();
  const failed = retries ? plans.run(id)?.record : undefined;
  if (retries && failed?.status !== "failed")
    throw new ByrefError("conflict", "Only a failed run can be retried.");
  const about = failed ?? { id, createdAt: new Date(now()).toISOString() };
  const opened = await openPlan(options, plan, about);
  const { needs } = opened;
  const first = { plan: plan.id, calls: {}, gates: {}, keep, needs, ...about };
  const record: RunRecord = failed
    ? recordToRetry(opened, failed)
    : { ...first, status: "running" };
  const turn = new PlanTurn({ ...options, plan, opened }, record);
  const writes: stores.PreparedWrite[] = [];
  try {
    const name = nameInRun(id, "input", []);
    writes.push(await store.prepare({ name, value: input, run: id, ...inputLabels(isTrusted) }));
    for (const result of record.results ?? []) {
      writes.push(await restoreResult(store, result, { run: id, plan: plan.plan }));
    }
    attempt.start("new", () => {
      requireStill();
      const by = json.compact({ principal: asker?.principal });
      events.add({ type: "run.started", plan: plan.id, run: id, ...by });
      options.onBegin();
      if (retries) plans.reopenRun(record, asker);
      else plans.addRun(record, input, asker);
      plans.setStatus(plan.id, "running");
      for (const write of writes) write.commit();
      for (const call of plan.plan.calls) turn.emitCall(call.id, stateIn(record, call.id));
    });
  } catch (error) {
    for (const write of writes) write.discard();
    throw error;
  }
  return turn.run();
}

/** Throws `plan_not_approved`. */
export function requireApproved({ id, status }: Pick<PlanRecord, "id" | "status">): void {
  if (status !== "proposed" && status !== "cancelled") return;
  const advice =
    status === "cancelled"
      ? "propose it again."
      : `it must be approved first: POST …/plans/${id}/approve.`;
  throw new ByrefError("plan_not_approved", `The plan is ${status}; ${advice}`);
}

/** What a failed run has not done waits again, and so do its approvals; a denial stays. */
function recordToRetry({ checked: { plan }, effectsOf }: OpenedPlan, failed: RunRecord): RunRecord {
  const { error: _, ...record } = failed;
  const left = plan.calls.filter(({ id }) => stateIn(record, id).status !== "done");
  if (record.results === undefined) throw resultsGone();
  const calls = left.map((call): [string, CallState] => {
    const { pin, reason = "" } = stateIn(record, call.id);
    const isUnknown = pin !== undefined || codeIn(reason) === "outcome_unknown";
    if (isUnknown && effectsOf(call) === "once") {
      const message = `${call.id} (${call.tool}) may have run, and must not run twice: start a new run.`;
      throw new ByrefError("outcome_unknown", message);
    }
    return [call.id, { status: "waiting", ...json.compact({ pin }) }];
  });
  const isAsked = (gate: string) =>
    left.some(
      (call) => gatesIn(call, plan).includes(gate) || gate.startsWith(`${record.id}.${call.id}.`),
    );
  const decided = Object.entries(record.gates);
  const gates = decided.filter(([gate, { approved }]) => !approved || !isAsked(gate));
  return {
    ...record,
    status: "running",
    calls: { ...record.calls, ...Object.fromEntries(calls) },
    gates: Object.fromEntries(gates),
  };
}

/** Decisions on gates of one run. */
export interface RunDecisions {
  readonly run: string;
  readonly decisions: readonly (readonly [gate: string, decision: GateDecision])[];
}

/**
 * Continues a run whose calls have waited for a person. `onTaken` receives each decision in the first commit. Rejects
 * with `approval_not_found`.
 */
export async function resumeRun(
  options: RunOptions,
  { run, decisions }: RunDecisions,
  onTaken: (gate: string, approved: boolean) => void,
): Promise<StoredRun> {
  const { plans, attempt, events } = options;
  const record = plans.run(run)?.record;
  if (record === undefined || !isOpenRun(record)) throw nothingWaits();
  const plan = plans.required(record.plan);
  if (!decisions.some(([gate]) => waitsFor(plan.plan, record, gate))) throw nothingWaits();
  const opened = await openPlan(options, plan, record);
  const continued: RunRecord = { ...record, status: "running" };
  const turn = new PlanTurn({ ...options, plan, opened }, continued);
  attempt.start("waited", () => {
    for (const [gate, { approved }] of decisions) onTaken(gate, approved);
    events.flush();
    options.onBegin();
    plans.saveRun(continued);
  });
  return turn.run(async (one) => {
    for (const [gate, decision] of decisions) await one.decide(gate, decision);
  });
}

/** Continues a run after a crash. Rejects only if the storage fails. */
export async function recoverRun(options: RunOptions): Promise<StoredRun> {
  const { plans, attempt, events } = options;
  events.add({ type: "run.recovered", run: attempt.head.id });
  const record = plans.run(attempt.head.id)?.record;
  if (record === undefined) throw new ByrefError("internal", "There is no run to continue.");
  const plan = plans.required(record.plan);
  let opened: OpenedPlan | undefined;
  let error = attempt.failure;
  try {
    opened = await openPlan(options, plan, record);
  } catch (thrown) {
    error ??= publicTextOf(thrown);
  }
  const turn = new PlanTurn({ ...options, plan, opened }, record);
  attempt.start("interrupted", options.onBegin);
  return error === undefined ? turn.run() : turn.giveUp(error);
}

/** Ends a run that waits for a person. A run in progress is stopped by its signal. */
export async function cancelRun(
  { plans, store, journal }: CancelOptions,
  record: RunRecord,
  reason = "The run was cancelled.",
): Promise<void> {
  const { plan } = plans.required(record.plan);
  const calls = closedCalls(plan, record, reason);
  const ended = { ...record, status: "cancelled", calls } as const;
  await commitOutcome({ plans, store, plan, record: ended }, (close) => journal.atomically(close));
  store.holds.release(record.id);
}

interface CancelOptions {
  readonly plans: PlanStore;
  readonly store: VariableStore;
  readonly journal: { atomically(work: () => void): void };
}

interface PlanTurnOptions extends RunOptions {
  readonly plan: PlanRecord;
  /** Undefined if the plan cannot run any more. */
  readonly opened: OpenedPlan | undefined;
}

class PlanTurn {
  readonly #options: PlanTurnOptions;
  #record: RunRecord;

  constructor(options: PlanTurnOptions, record: RunRecord) {
    this.#options = options;
    this.#record = record;
  }

  async run(first?: (run: PlanRun) => Promise<void>): Promise<StoredRun> {
    // The run may have ended before the crash.
    const { attempt, opened, onRun } = this.#options;
    if (opened === undefined || !isOpenRun(this.#record)) return this.#end();
    const { store, signal, observer, keyPrefix } = attempt.context;
    const run = new PlanRun({
      ...opened,
      record: this.#record,
      store,
      keyPrefix,
      observer,
      signal,
      commit: (work) => this.#commit(work),
      onCall: (id, state) => this.#note(id, state),
      onStart: attempt.toolbox.onCall,
    });
    await attempt.run(async () => {
      onRun(run);
      await first?.(run);
      await run.run();
    });
    const { timeoutError } = attempt;
    if (timeoutError !== undefined && this.#record.status === "cancelled") {
      const error = publicTextOf(timeoutError);
      this.#commit(() => ({ ...this.#record, status: "failed", error }));
    }
    return this.#end();
  }

  /** Ends a run that cannot continue. Waiting calls do not run; the outcome of running calls is unknown. */
  async giveUp(error: string): Promise<StoredRun> {
    const calls = closedCalls(this.#options.plan.plan, this.#record, error);
    this.#commit(() => {
      for (const [id, state] of Object.entries(calls)) {
        if (state !== this.#record.calls[id]) this.emitCall(id, state);
      }
      return { ...this.#record, status: "failed", error, calls };
    });
    return this.#end();
  }

  /** Stores the run's result and closes the run in one commit. */
  async #end(): Promise<StoredRun> {
    const { plans, attempt, plan } = this.#options;
    const { store, emit } = attempt.context;
    await commitOutcome({ plans, store, plan: plan.plan, record: this.#record }, (close) => {
      attempt.end(() => {
        const { record, streamed } = close();
        this.#record = record;
        const { status } = record;
        const isOpen = status === "running" || status === "waiting";
        plans.setStatus(plan.id, this.#planStatus());
        emit({ type: "data-run", data: this.#shown(streamed), transient: true });
        const end = {
          status: isOpen ? "waiting" : status === "cancelled" ? "stopped" : status,
          ...(status === "failed" && { code: codeIn(failureIn(record)) }),
          ...(isOpen && { waits: {} }),
        } as const;
        return { end, result: undefined };
      });
    });
    const { id, status } = this.#record;
    const type = status === "running" ? ("run.waiting" as const) : (`run.${status}` as const);
    this.#options.events.add({ type, run: id, plan: plan.id });
    const stored = plans.run(id);
    if (stored === undefined) throw new ByrefError("internal", "The run was not recorded.");
    return stored;
  }

  #shown(state: Json): Json {
    const { id, status, calls, error } = this.#record;
    const outputs = Object.entries(calls).flatMap(([call, { output }]) =>
      output === undefined ? [] : [[call, output]],
    );
    return json.compact({ run: id, status, state, outputs: Object.fromEntries(outputs), error });
  }

  /** The plan's status after the newest run, unless another run is open. A cancelled plan stays cancelled. */
  #planStatus(): PlanStatus {
    const { plans } = this.#options;
    const { id, plan, status } = this.#record;
    if (plans.statusOf(plan) === "cancelled") return "cancelled";
    if (plans.countOpen(plan, id) > 0 || isOpenRun(this.#record)) return "running";
    // Only the run was stopped. The plan may run again.
    return status === "done" || status === "failed" ? status : "approved";
  }

  #commit(work: () => RunRecord): void {
    const { plans, attempt } = this.#options;
    attempt.context.log.commit(() => {
      this.#record = work();
      plans.saveRun(this.#record);
    });
  }

  /** Records progress. Starting a call again is not progress; ending it is. */
  #note(id: string, state: CallState): void {
    const { log, account } = this.#options.attempt.context;
    const isOver = state.status !== "waiting" && state.status !== "running";
    if (isOver) log.note({ state: { ...account.counts, tainted: false, waiting: {} } });
    this.emitCall(id, state);
  }

  /** Streams the state of a call, and adds its event. */
  emitCall(call: string, { status, reason, gate, asked, output }: CallState): void {
    const { attempt, events, plan } = this.#options;
    const tool = plan.plan.calls.find(({ id }) => id === call)?.tool ?? "";
    const waits = status === "waiting" ? { gate, asked } : {};
    const data = { call, tool, status, reason, output, ...waits };
    attempt.context.emit({ type: "data-call", id: call, data, transient: true });
    const run = this.#record.id;
    const about = { run, tool, toolCallId: `${run}/${call}` };
    if (status === "running") events.add({ type: "tool.called", ...about });
    if (status === "done") events.add({ type: "tool.done", ...about });
    if (status === "failed")
      events.add({ type: "tool.failed", ...about, code: codeIn(reason ?? "") });
  }
}

/** The run's own error, or that of its first failed call. */
function failureIn({ error, calls }: RunRecord): string {
  const failed = Object.values(calls).find(({ status }) => status === "failed");
  return error ?? failed?.reason ?? "";
}
