import type { UIMessageChunk } from "ai";
import { ByrefError, publicTextOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { closedCalls } from "../../plan/closed-calls.ts";
import { waitsFor } from "../../plan/gates.ts";
import type { PlanRecord, PlanStatus, StoredRun } from "../../plan/plan-record.ts";
import type { PlanStore } from "../../plan/plan-store.ts";
import { PlanRun } from "../../plan/plan-run.ts";
import {
  type CallState,
  type GateDecision,
  isOpenRun,
  type RunRecord,
} from "../../plan/run-record.ts";
import { nameInRun } from "../../plan/run-names.ts";
import type { Json } from "../../value/json.ts";
import type { JournalEntry, TurnHead } from "../log/journal.ts";
import { leaseOf, spendFor } from "../spend/lease.ts";
import type { Remains } from "../log/log-lines.ts";
import { type OpenedPlan, openPlan } from "./open-plan.ts";
import { runEndOf } from "./run-end.ts";
import { nextAttempt, whyGivenUp } from "../log/recovery.ts";
import { commitOutcome } from "./run-outcome.ts";
import { NOTHING_SPENT, spentBefore } from "../spend/spend.ts";
import { Account } from "../spend/account.ts";
import { tellChanges } from "../tell-changes.ts";
import type { TurnOptions } from "../turn-options.ts";

export interface PlanTurnOptions extends TurnOptions {
  readonly plans: PlanStore;
  /** Called when the run is about to be written down, in the same commit. */
  readonly onBegin?: () => void;
  /** Told of the run when it goes on, and can be decided on. */
  readonly onRun?: (run: PlanRun) => void;
}

/** A plan, and what it is run with. */
export interface NewRun {
  readonly plan: PlanRecord;
  readonly id: string;
  readonly input: Json;
  /** Does the conversation get what the run came to? */
  readonly keep: boolean;
}

/** What a person has decided of a run that waits. */
export interface RunDecision {
  readonly run: string;
  readonly decisions: readonly (readonly [gate: string, decision: GateDecision])[];
}

/**
 * Runs a plan: a turn of another kind, with a log of its own frames and its place in the journal. Rejects
 * with `invalid_plan` if it cannot run any more, and if the storage fails; what fails in it is in its record.
 */
export async function startRun(options: PlanTurnOptions, start: NewRun): Promise<StoredRun> {
  const { journal, log, plans, store, now } = options;
  const { plan, id, input, keep } = start;
  const head = headFor(options, id);
  const account = accountFor(options, head);
  const createdAt = new Date(now()).toISOString();
  const opened = await openPlan(options, plan, { run: id, createdAt, account });
  const record: RunRecord = {
    id,
    plan: plan.id,
    status: "running",
    calls: {},
    gates: {},
    keep,
    needs: opened.needs,
    createdAt,
  };
  const turn = new PlanTurn(options, { plan, opened, record, account, head });
  const given = await store.prepare({ name: nameInRun(id, "input", []), value: input, run: id });
  try {
    log.begin(journal, turn.head, () => {
      if (plans.statusOf(plan.id) === "cancelled") throw planOver();
      options.onBegin?.();
      plans.addRun(record, input);
      plans.setStatus(plan.id, "running");
      given.commit();
      turn.tellAll();
    });
  } catch (error) {
    given.discard();
    store.forget();
    throw error;
  }
  return turn.run();
}

/** Goes on with a run where its calls have waited for a person; rejects with `approval_not_found`. */
export async function resumeRun(
  options: PlanTurnOptions,
  { run, decisions }: RunDecision,
): Promise<StoredRun> {
  const { journal, log, plans } = options;
  const record = plans.run(run)?.record;
  if (record === undefined || !isOpenRun(record)) throw nothingWaits();
  const plan = plans.required(record.plan);
  if (!decisions.some(([gate]) => waitsFor(plan.plan, record, gate))) throw nothingWaits();
  const last = journal.head();
  const head = headFor(options, run);
  const account = accountFor(options, head);
  const opened = await openPlan(options, plan, { ...record, run, account });
  const goesOn: RunRecord = { ...record, status: "running" };
  const turn = new PlanTurn(options, { plan, opened, record: goesOn, account, head });
  const begin = () => {
    options.onBegin?.();
    plans.saveRun(goesOn);
  };
  if (last?.id === run) log.resume(journal, head, begin);
  else log.begin(journal, head, begin);
  return turn.run(async (one) => {
    for (const [gate, decision] of decisions) await one.decide(gate, decision);
  });
}

/** Goes on with a run that a crash cut off. Rejects only if the storage fails. */
export async function recoverRun(options: PlanTurnOptions, remains: Remains): Promise<StoredRun> {
  const { journal, log, plans } = options;
  const last = journal.head();
  const record = last === undefined ? undefined : plans.run(last.id)?.record;
  if (last === undefined || record === undefined) {
    throw new ByrefError("internal", "There is no run to go on with.");
  }
  const plan = plans.required(record.plan);
  const head = nextAttempt(last);
  const account = accountFor(options, head);
  const counted = remains.entries.at(-1)?.state;
  if (counted !== undefined) account.restore(counted);
  let opened: OpenedPlan | undefined;
  let error: string | undefined;
  try {
    opened = await openPlan(options, plan, { ...record, run: record.id, account });
  } catch (thrown) {
    error = publicTextOf(thrown);
  }
  const turn = new PlanTurn(options, { plan, opened, record, account, head });
  log.retry(journal, head, () => undefined);
  error = whyGivenUp(remains) ?? error;
  return error === undefined ? turn.run() : turn.giveUp(error);
}

interface Attempt {
  readonly plan: PlanRecord;
  /** Undefined if it cannot be run any more. */
  readonly opened: OpenedPlan | undefined;
  readonly record: RunRecord;
  readonly account: Account;
  readonly head: TurnHead;
}

/** One attempt at a run. */
class PlanTurn {
  readonly head: TurnHead;
  readonly #options: PlanTurnOptions;
  readonly #attempt: Attempt;
  #record: RunRecord;
  readonly #timeout = new AbortController();

  constructor(options: PlanTurnOptions, attempt: Attempt) {
    this.head = attempt.head;
    this.#options = options;
    this.#attempt = attempt;
    this.#record = attempt.record;
  }

  /** What all calls are at the start. */
  tellAll(): void {
    for (const { id } of this.#attempt.plan.plan.calls) this.#tell(id, { status: "waiting" });
  }

  async run(first?: (run: PlanRun) => Promise<void>): Promise<StoredRun> {
    const { opened } = this.#attempt;
    // What a crash cut off may have had its end already.
    if (opened === undefined || !isOpenRun(this.#record)) return this.#end();
    const { store, keyPrefix, onRun, observer } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, this.#timeout.signal]);
    const timer = setTimeout(() => this.#timeout.abort(), limits.runMs);
    const run = new PlanRun({
      ...opened,
      record: this.#record,
      store,
      keyPrefix,
      observer,
      signal,
      commit: (work) => this.#commit(work),
      onCall: (id, state) => this.#note(id, state),
      onStart: () => this.#attempt.account.spend.add("toolCalls", 1),
    });
    const stopObserving = tellChanges(store, (chunk) => this.#emit(chunk));
    try {
      onRun?.(run);
      await first?.(run);
      await run.run();
    } finally {
      clearTimeout(timer);
      stopObserving();
    }
    if (this.#timeout.signal.aborted && this.#record.status === "cancelled") {
      const error = `run_timeout: The run did not finish within ${limits.runMs} ms.`;
      this.#commit(() => ({ ...this.#record, status: "failed", error }));
    }
    return this.#end();
  }

  /** Nothing of it will go on: what waits does not run, what had begun nobody knows of. */
  async giveUp(error: string): Promise<StoredRun> {
    const calls = closedCalls(this.#attempt.plan.plan, this.#record, error);
    this.#commit(() => {
      for (const [id, state] of Object.entries(calls)) {
        if (state !== this.#record.calls[id]) this.#tell(id, state);
      }
      return { ...this.#record, status: "failed", error, calls };
    });
    return this.#end();
  }

  /** What the run came to is kept, the run is closed, in one commit. */
  async #end(): Promise<StoredRun> {
    const { plans, store, log } = this.#options;
    const { plan } = this.#attempt;
    const ending = { store, plan: plan.plan, record: this.#record };
    await commitOutcome(ending, (outcome) => {
      this.#record = outcome.record;
      log.end(() => {
        outcome.commit();
        plans.saveRun(this.#record);
        if (!isOpenRun(this.#record)) plans.saveState(this.#record.id, outcome.state);
        plans.setStatus(plan.id, this.#planStatus());
        this.#emit({ type: "data-run", data: this.#shown(outcome.state), transient: true });
        return this.#endedHead();
      });
    });
    if (!isOpenRun(this.#record)) store.holds.release(this.#record.id);
    this.#attempt.account.spend.settle();
    const stored = plans.run(this.#record.id);
    if (stored === undefined) throw new ByrefError("internal", "The run was not written down.");
    const { account } = this.#attempt;
    this.#options.onEnd?.(runEndOf(stored.record, account, this.#options.cost()));
    return stored;
  }

  #shown(state: Json): Json {
    const { id, status, error } = this.#record;
    return { run: id, status, state, ...(error === undefined ? {} : { error }) };
  }

  /** Of the newest run that is over, unless another still goes on; a plan that was cancelled stays so. */
  #planStatus(): PlanStatus {
    const { plans } = this.#options;
    const { id, plan, status } = this.#record;
    if (plans.statusOf(plan) === "cancelled") return "cancelled";
    if (plans.countOpen(plan, id) > 0 || isOpenRun(this.#record)) return "running";
    // A run was stopped, and not the plan: it may run again.
    return status === "done" || status === "failed" ? status : "approved";
  }

  #endedHead(): TurnHead {
    const { status } = this.#record;
    const ended =
      status === "failed" ? ("failed" as const) : status === "cancelled" && ("stopped" as const);
    const { total, turn } = this.#attempt.account.spend;
    const lease = leaseOf(this.#options, this.head, turn);
    return {
      ...this.head,
      ...lease,
      isOpen: false,
      spent: total,
      ...(ended === false ? {} : { ended }),
    };
  }

  #commit(work: () => RunRecord): void {
    const { log, plans } = this.#options;
    log.commit(() => {
      this.#record = work();
      plans.saveRun(this.#record);
    });
  }

  /** Begun again and again is nothing achieved; an end is. */
  #note(id: string, state: CallState): void {
    const isOver = state.status !== "waiting" && state.status !== "running";
    if (isOver) this.#options.log.note(this.#counts());
    this.#tell(id, state);
  }

  #counts(): JournalEntry {
    return { state: { ...this.#attempt.account.counts, tainted: false, waiting: {} } };
  }

  #tell(call: string, { status, reason, gate, asked }: CallState): void {
    const tool = this.#attempt.plan.plan.calls.find(({ id }) => id === call)?.tool ?? "";
    const waits = status === "waiting" ? { gate, asked } : {};
    const data = { call, tool, status, reason, ...waits };
    this.#emit({ type: "data-call", id: call, data, transient: true });
  }

  #emit(chunk: UIMessageChunk): void {
    this.#options.log.push(chunk);
    this.#options.emit?.(chunk);
  }
}

function accountFor(options: PlanTurnOptions, head: TurnHead): Account {
  return new Account(options.store, spendFor(options, head));
}

/** In the place of a turn that may wait for a person, and can go on afterwards. */
function headFor({ journal, agent, conversation, trace }: PlanTurnOptions, id: string): TurnHead {
  const last = journal.head();
  const { attempt = 0 } = last ?? {};
  const paused = pausedIn(last);
  return {
    id,
    kind: "run",
    attempt: attempt + 1,
    isOpen: true,
    agent: agent.name,
    conversation,
    spent: spentBefore(last),
    ...(paused === undefined ? {} : { paused }),
    ...(trace === undefined ? {} : { trace }),
  };
}

function pausedIn(last: TurnHead | undefined): TurnHead["paused"] {
  if (last?.needs === undefined) return last?.paused;
  const { id, needs, post, counts } = last;
  return {
    id,
    needs,
    ...(post === undefined ? {} : { post }),
    // What it spent is the conversation's by now.
    ...(counts === undefined ? {} : { counts: { ...counts, spent: NOTHING_SPENT } }),
  };
}

function planOver(): ByrefError {
  return new ByrefError("plan_over", "The plan was cancelled before it ran.");
}

function nothingWaits(): ByrefError {
  return new ByrefError("approval_not_found", "Nothing waits for this approval any more.");
}
