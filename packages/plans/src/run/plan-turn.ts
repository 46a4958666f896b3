import { ByrefError, codeIn, type ErrorCode, publicTextOf } from "../../../../src/errors.ts";
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
  type RunStatus,
  closedCalls,
  stateIn,
} from "../plan/plan-record.ts";
import { PlanRun } from "../plan/plan-run.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { nameInRun } from "../plan/run-names.ts";
import { type OpenedPlan, openPlan } from "./open-plan.ts";
import { commitOutcome, restoreResult, resultsGone } from "./run-outcome.ts";
import {
  Attempt,
  type AttemptEnd,
  giveUpReason,
  headFor,
  type JournalEntry,
  NOTHING_SPENT,
  type RecoveredLog,
  type TurnHead,
  type turnContexts,
} from "../../../../src/internal-tool.ts";
import { json, type stores } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

export interface PlanTurnOptions extends turnContexts.TurnOptions {
  readonly plans: PlanStore;
  readonly planFormats: readonly PlanFormat[];
  /** Called before the run is written, in the same commit. */
  readonly onBegin?: () => void;
  /** Called with the run when it continues and accepts decisions. */
  readonly onRun?: (run: PlanRun) => void;
}

export interface NewRun {
  readonly plan: PlanRecord;
  readonly id: string;
  readonly input: Json;
  /** True if the conversation receives the run's result. */
  readonly keep: boolean;
  /** False for an input of a stranger. Default: true. */
  readonly isTrusted?: boolean;
  /** Continues the failed run of this id: its calls that are done are not called again. */
  readonly retries?: boolean;
}

export interface RunDecision {
  readonly run: string;
  readonly decisions: readonly (readonly [gate: string, decision: GateDecision])[];
}

/**
 * Runs a plan as a turn of another kind, with its own log and its place in the journal. Rejects with
 * `invalid_plan` if the plan cannot run any more, and if the storage fails; to retry, also with `conflict`,
 * and with `outcome_unknown` if a call may have had its effect. Failures of calls are in the record.
 */
export async function startRun(options: PlanTurnOptions, start: NewRun): Promise<StoredRun> {
  const { plans, planFormats, store, now } = options;
  const { plan, id, input, keep, isTrusted = true, retries = false } = start;
  const attempt = attemptAt(options, id);
  const failed = retries ? requireFailed(plans.run(id)?.record) : undefined;
  const { createdAt = new Date(now()).toISOString() } = failed ?? {};
  const about = failed ?? { id, createdAt };
  const opened = await openPlan({ ...attempt.context, planFormats }, plan, about);
  const { needs } = opened;
  const first = { id, plan: plan.id, calls: {}, gates: {}, keep, needs, createdAt };
  const record: RunRecord = failed
    ? recordToRetry(opened, failed)
    : { ...first, status: "running" };
  const turn = new PlanTurn(options, { plan, opened, record, attempt });
  const writes: stores.PreparedWrite[] = [];
  try {
    const name = nameInRun(id, "input", []);
    writes.push(await store.prepare({ name, value: input, run: id, ...inputLabels(isTrusted) }));
    for (const result of record.results ?? []) {
      writes.push(await restoreResult(store, result, { run: id, plan: plan.plan }));
    }
    attempt.begin(() => {
      if (plans.statusOf(plan.id) === "cancelled")
        throw new ByrefError("plan_not_approved", "The plan was cancelled before it ran.");
      options.onBegin?.();
      if (retries) plans.reopenRun(record, options.asker);
      else plans.addRun(record, input, options.asker);
      plans.setStatus(plan.id, "running");
      for (const write of writes) write.commit();
      turn.emitAll();
    });
  } catch (error) {
    for (const write of writes) write.discard();
    throw error;
  }
  return turn.run();
}

function requireFailed(record: RunRecord | undefined): RunRecord {
  if (record?.status === "failed") return record;
  throw new ByrefError("conflict", "Only a failed run can be retried.");
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

/** Continues a run whose calls have waited for a person. Rejects with `approval_not_found`. */
export async function resumeRun(
  options: PlanTurnOptions,
  { run, decisions }: RunDecision,
): Promise<StoredRun> {
  const { plans, planFormats } = options;
  const record = plans.run(run)?.record;
  if (record === undefined || !isOpenRun(record)) throw nothingWaits();
  const plan = plans.required(record.plan);
  if (!decisions.some(([gate]) => waitsFor(plan.plan, record, gate))) throw nothingWaits();
  const attempt = attemptAt(options, run);
  const opened = await openPlan({ ...attempt.context, planFormats }, plan, record);
  const continued: RunRecord = { ...record, status: "running" };
  const turn = new PlanTurn(options, { plan, opened, record: continued, attempt });
  attempt.resume(() => {
    options.onBegin?.();
    plans.saveRun(continued);
  });
  return turn.run(async (one) => {
    for (const [gate, decision] of decisions) await one.decide(gate, decision);
  });
}

/** Continues a run after a crash. Rejects only if the storage fails. */
export async function recoverRun(
  options: PlanTurnOptions,
  recoveredLog: RecoveredLog,
): Promise<StoredRun> {
  const { plans, planFormats } = options;
  const attempt = Attempt.next(options);
  const record = plans.run(attempt.head.id)?.record;
  if (record === undefined) throw new ByrefError("internal", "There is no run to continue.");
  const plan = plans.required(record.plan);
  const counted = recoveredLog.entries.at(-1)?.state;
  if (counted !== undefined) attempt.context.account.restore(counted);
  let opened: OpenedPlan | undefined;
  let error = giveUpReason(recoveredLog);
  try {
    opened = await openPlan({ ...attempt.context, planFormats }, plan, record);
  } catch (thrown) {
    error ??= publicTextOf(thrown);
  }
  const turn = new PlanTurn(options, { plan, opened, record, attempt });
  attempt.retry(() => undefined);
  return error === undefined ? turn.run() : turn.giveUp(error);
}

/** Ends a run that waits for a person. A run in progress is stopped by its signal. */
export async function cancelRun(
  { plans, store, journal }: Pick<PlanTurnOptions, "plans" | "store" | "journal">,
  record: RunRecord,
  reason = "The run was cancelled.",
): Promise<void> {
  const { plan } = plans.required(record.plan);
  const calls = closedCalls(plan, record, reason);
  const ended = { ...record, status: "cancelled", calls } as const;
  await commitOutcome({ store, plan, record: ended }, (outcome) => {
    journal.atomically(() => {
      outcome.commit();
      plans.saveRun(outcome.record);
      plans.saveState(record.id, outcome.state);
    });
  });
  store.holds.release(record.id);
}

interface PlanAttempt {
  readonly plan: PlanRecord;
  /** Undefined if the plan cannot run any more. */
  readonly opened: OpenedPlan | undefined;
  readonly record: RunRecord;
  readonly attempt: Attempt;
}

class PlanTurn {
  readonly #options: PlanTurnOptions;
  readonly #given: PlanAttempt;
  #record: RunRecord;

  constructor(options: PlanTurnOptions, given: PlanAttempt) {
    this.#options = options;
    this.#given = given;
    this.#record = given.record;
  }

  emitAll(): void {
    for (const { id } of this.#given.plan.plan.calls) this.#emitCall(id, stateIn(this.#record, id));
  }

  async run(first?: (run: PlanRun) => Promise<void>): Promise<StoredRun> {
    const { opened } = this.#given;
    // The run may have ended before the crash.
    if (opened === undefined || !isOpenRun(this.#record)) return this.#end();
    const { store, signal, observer, account } = this.#given.attempt.context;
    const { keyPrefix, onRun } = this.#options;
    const run = new PlanRun({
      ...opened,
      record: this.#record,
      store,
      keyPrefix,
      observer,
      signal,
      commit: (work) => this.#commit(work),
      onCall: (id, state) => this.#note(id, state),
      onStart: () => account.spend.add("toolCalls", 1),
    });
    await this.#given.attempt.run(async () => {
      onRun?.(run);
      await first?.(run);
      await run.run();
    });
    const { timeoutError } = this.#given.attempt;
    if (timeoutError !== undefined && this.#record.status === "cancelled") {
      const error = publicTextOf(timeoutError);
      this.#commit(() => ({ ...this.#record, status: "failed", error }));
    }
    return this.#end();
  }

  /** Ends a run that cannot continue. Waiting calls do not run; the outcome of running calls is unknown. */
  async giveUp(error: string): Promise<StoredRun> {
    const calls = closedCalls(this.#given.plan.plan, this.#record, error);
    this.#commit(() => {
      for (const [id, state] of Object.entries(calls)) {
        if (state !== this.#record.calls[id]) this.#emitCall(id, state);
      }
      return { ...this.#record, status: "failed", error, calls };
    });
    return this.#end();
  }

  /** Stores the run's result and closes the run in one commit. */
  async #end(): Promise<StoredRun> {
    const { plans, store } = this.#options;
    const { plan } = this.#given.plan;
    await commitOutcome({ store, plan, record: this.#record }, (outcome) => {
      this.#given.attempt.end(() => {
        outcome.commit();
        this.#record = outcome.record;
        plans.saveRun(this.#record);
        if (!isOpenRun(this.#record)) plans.saveState(this.#record.id, outcome.state);
        plans.setStatus(this.#given.plan.id, this.#planStatus());
        const data = this.#shown(outcome.streamed);
        this.#given.attempt.context.emit({ type: "data-run", data, transient: true });
        return { end: endOf(this.#record), result: undefined };
      });
    });
    const stored = plans.run(this.#record.id);
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
    const { log, plans } = this.#options;
    log.commit(() => {
      this.#record = work();
      plans.saveRun(this.#record);
    });
  }

  /** Records progress. Starting a call again is not progress; ending it is. */
  #note(id: string, state: CallState): void {
    const isOver = state.status !== "waiting" && state.status !== "running";
    if (isOver) this.#options.log.note(this.#counts());
    this.#emitCall(id, state);
  }

  #counts(): JournalEntry {
    const { counts } = this.#given.attempt.context.account;
    return { state: { ...counts, tainted: false, waiting: {} } };
  }

  #emitCall(call: string, { status, reason, gate, asked, output }: CallState): void {
    const tool = this.#given.plan.plan.calls.find(({ id }) => id === call)?.tool ?? "";
    const waits = status === "waiting" ? { gate, asked } : {};
    const data = { call, tool, status, reason, output, ...waits };
    this.#given.attempt.context.emit({ type: "data-call", id: call, data, transient: true });
  }
}

const ENDS = {
  running: "waiting",
  waiting: "waiting",
  done: "done",
  failed: "failed",
  cancelled: "stopped",
} as const satisfies Record<RunStatus, turnContexts.TurnEnd["status"]>;

function endOf(record: RunRecord): AttemptEnd {
  const status = ENDS[record.status];
  return {
    status,
    ...(status === "failed" ? { code: failureIn(record) } : {}),
    ...(isOpenRun(record) ? { waits: {} } : {}),
  };
}

/** The run's own error code, or that of its first failed call. */
function failureIn({ error, calls }: RunRecord): ErrorCode {
  const failed = Object.values(calls).find(({ status }) => status === "failed");
  return codeIn(error ?? failed?.reason ?? "");
}

/** Starts a first attempt. It replaces a turn that may wait for a person and can continue afterwards. */
function attemptAt(options: PlanTurnOptions, id: string): Attempt {
  const paused = pausedIn(options.journal.head());
  return new Attempt(
    options,
    json.compact({ ...headFor(options, id), kind: "run" as const, paused }),
  );
}

function pausedIn(last: TurnHead | undefined): TurnHead["paused"] {
  if (last?.needs === undefined) return last?.paused;
  const { id, needs, post, counts, asker } = last;
  // The conversation's total already includes what the turn spent.
  return json.compact({
    id,
    needs,
    post,
    asker,
    counts: counts && { ...counts, spent: NOTHING_SPENT },
  });
}
