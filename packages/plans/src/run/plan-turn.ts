import {
  ByrefError,
  codeIn,
  publicTextOf,
  codeOf,
  type ErrorCode,
  messageOf,
} from "../../../../src/errors.ts";
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
  type RunResult,
} from "../plan/plan-record.ts";
import { PlanRun } from "../plan/plan-run.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { type OpenedPlan, openPlan } from "./open-plan.ts";
import {
  type Attempt,
  type eventLogs,
  type Plan,
  type PlanOutput,
  toolOutputs,
} from "../../../../src/internal-tool.ts";
import {
  json,
  type stores,
  type VariableStore,
  encoding,
  flagged,
  retryConflicts,
  streamOf,
  charsOf,
  type metadata,
  type contents,
} from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import * as limits from "../../../../src/limits.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";

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

interface NewRun {
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

interface OutcomeOptions {
  readonly plans: Pick<PlanStore, "saveRun" | "saveState">;
  readonly store: VariableStore;
  readonly plan: Plan;
  readonly record: RunRecord;
}

/** Errors that another try would not resolve. */
const PERMANENT = new Set<ErrorCode>(["limit_exceeded", "bad_value", "bad_name", "bad_path"]);

/**
 * Passes on what a run has left, and ends its own variables. A waiting run passes on nothing yet. A result that the
 * conversation cannot accept stays under the run's own name. `commit` calls `close` in a transaction. Tries again on
 * `conflict`; rejects with errors that may be temporary, for example a bucket that does not respond.
 */
export async function commitOutcome(
  { plans, store, plan, record: given }: OutcomeOptions,
  commit: (close: () => ClosedRun) => void,
): Promise<void> {
  return retryConflicts(store, async () => {
    const endings: Ending[] = [];
    try {
      const maxBytes = limits.maxRecordBytes;
      for (const part of await resultParts(store, { plan, run: given.id, maxBytes }))
        endings.push(await endingOf(store, part, given));
      commit(() => {
        // Ending the run frees the space of its own variables for the results.
        if (!isOpenRun(given)) store.endRun(given.id);
        const { state, ...closed } = closeRun(plan, given, endings);
        plans.saveRun(closed.record);
        if (!isOpenRun(given)) plans.saveState(given.id, state);
        return closed;
      });
    } catch (error) {
      store.forget();
      for (const { write } of endings) write?.discard();
      throw error;
    }
  });
}

interface ClosedRun {
  /** With a note on results that the conversation could not accept, and what a failed run and templates have written. */
  readonly record: RunRecord;
  /** The run's state and outputs for the stream: handles replace long and guarded parts. */
  readonly streamed: Json;
}

/** Commits the writes. `state`: as `streamed`, but handles replace only values that are too large or secret. */
function closeRun(
  plan: Plan,
  given: RunRecord,
  endings: readonly Ending[],
): ClosedRun & { readonly state: Json } {
  const problems = endings.flatMap(({ problem }) => problem ?? []);
  const error = [given.error ?? [], problems].flat().join(" ");
  const parts = endings.map(({ part, write }) => ({ ...part, written: write?.commit() }));
  const results = parts.flatMap(({ output, written }): readonly RunResult[] => {
    if (written === undefined) return [];
    const { name, version, updatedAt } = written;
    return [{ output: output.name, name, version, updatedAt }];
  });
  const { results: _, ...others } = error === "" ? given : { ...given, error };
  const isKept = others.status === "failed" && others.keep && problems.length === 0;
  const ended = isKept ? { ...others, results } : others;
  const kept = parts.map((part) => {
    return { ...part, handle: { $var: (part.written ?? part.info).name } };
  });
  const streamed = parts.map(({ output, info, shown, written }) => {
    const most = limits.maxPieceChars;
    const isLong = shown === undefined || charsOf(shown, most) > most;
    const isHandle = isLong || info.visibility !== "model";
    const handle = handleOf(info, shown, written?.name);
    return { output, shown: isHandle ? undefined : shown, handle };
  });
  return {
    record: plan.format === "template" ? withWritten(ended, results) : ended,
    state: resultOf(kept),
    streamed: resultOf(streamed),
  };
}

/** The record in which the outputs of a template's steps name the variables that were written. */
function withWritten(record: RunRecord, results: readonly RunResult[]): RunRecord {
  const named = (place: Json): Json => {
    const [, name = "", path = ""] = /^variable:(\w+)(.*)$/su.exec(String(place)) ?? [];
    const written = results.find(({ output }) => output === name);
    return written === undefined ? place : `variable:${written.name}${path}`;
  };
  const calls = Object.entries(record.calls).map(([id, state]): [string, CallState] => {
    const { output } = state;
    if (output === undefined || !json.isJsonObject(output)) return [id, state];
    const { written } = output;
    if (written === undefined || !json.isJsonArray(written)) return [id, state];
    return [id, { ...state, output: { ...output, written: written.map(named) } }];
  });
  return { ...record, calls: Object.fromEntries(calls) };
}

/** The fate of a result when the run ends. */
interface Ending {
  readonly part: ResultPart;
  readonly write?: stores.PreparedWrite;
  /** Why the result is not in the conversation's own variable. */
  readonly problem?: string;
}

async function endingOf(
  store: VariableStore,
  part: ResultPart,
  record: RunRecord,
): Promise<Ending> {
  if (isOpenRun(record)) return { part };
  if (!record.keep || record.status === "cancelled") {
    // The value is still the run's result.
    return part.shown === undefined ? { part, write: await prepareCopy(store, part) } : { part };
  }
  try {
    return { part, write: await handedOn(store, part, record) };
  } catch (error) {
    if (!PERMANENT.has(codeOf(error))) throw error;
    const { output, info } = part;
    const problem = `${output.name} was kept as ${info.name}: ${messageOf(error)}`;
    return { part, write: await prepareCopy(store, part), problem };
  }
}

async function handedOn(
  store: VariableStore,
  { output: { name, mode }, info, shown }: ResultPart,
  { results = [] }: RunRecord,
): Promise<stores.PreparedWrite> {
  const value = shown ?? (await store.read(info.name)) ?? null;
  // A retry has begun with what the conversation had received.
  const before = results.find(({ output }) => output === name);
  const isAdded = mode === "append" && before === undefined;
  const write = {
    ...labelsOf(info),
    name: before?.name ?? name,
    value: isAdded ? withBreak(store, name, value) : value,
    mode: before === undefined || mode === "merge" ? mode : ("replace" as const),
  };
  try {
    return await store.prepare(write);
  } catch (error) {
    // The existing value has another type, for example text. It must not be lost.
    if (codeOf(error) !== "bad_value") throw error;
    return store.prepare({ ...write, mode: "new" });
  }
}

/** Copies the run's variable to a variable of the conversation with the run's name. */
async function prepareCopy(
  store: VariableStore,
  { info }: ResultPart,
): Promise<stores.PreparedWrite> {
  const value = (await copyOf(store, info.name)) ?? null;
  return store.prepare({ ...labelsOf(info), name: info.name, value, mode: "replace" });
}

/** Gives a retried run a result of its own again. Throws `conflict` if it is not there as the run has left it. */
async function restoreResult(
  store: VariableStore,
  { output, name, version, updatedAt }: RunResult,
  { run, plan: { runNames } }: { readonly run: string; readonly plan: Plan },
): Promise<stores.PreparedWrite> {
  const info = store.info(name);
  if (info?.version !== version || info.updatedAt !== updatedAt) throw resultsGone();
  const value = (await store.read(name)) ?? null;
  return store.prepare({ ...labelsOf(info), name: nameInRun(run, output, runNames), value, run });
}

function resultsGone(): ByrefError {
  const message = "What the run has left has changed or expired: start a new run.";
  return new ByrefError("conflict", message);
}

function labelsOf({ visibility, sources, trusted, flags, madeOf }: ResultPart["info"]) {
  const labels = { sources, trusted, ...flagged(flags), ...json.compact({ madeOf }) };
  return { ...labels, ...(visibility === "model" ? {} : { visibility }) };
}

/** Copies in chunks, because the value may not fit into memory. */
async function copyOf(store: VariableStore, name: string): Promise<contents.Content | undefined> {
  const open = store.open(name);
  if (open === undefined) return undefined;
  const { type, mediaType } = open.info;
  const stream = streamOf(piecesOf(open));
  try {
    const records = type === "array" ? await store.receiveRecords(stream, mediaType) : undefined;
    return records ?? (await store.receive(stream, mediaType));
  } finally {
    open.close();
  }
}

async function* piecesOf(open: metadata.OpenValue): AsyncGenerator<Uint8Array> {
  const { bytes } = open.info;
  for (let from = 0; from < bytes; from += limits.maxRecordBytes)
    yield await open.read(from, Math.min(from + limits.maxRecordBytes, bytes));
}

function withBreak(store: VariableStore, name: string, value: Json): Json {
  const there = store.info(name);
  const isBelow = there?.type === "string" && there.count > 0 && typeof value === "string";
  return isBelow ? `\n\n${value}` : value;
}

const STATE: PlanOutput = { name: "state", mode: "merge" };

/** The state and the outputs that a run has written. All shown values together are at most `maxBytes`. */
export async function resultParts(
  store: VariableStore,
  { plan, run, maxBytes }: { readonly plan: Plan; readonly run: string; readonly maxBytes: number },
): Promise<readonly ResultPart[]> {
  // The state is merged, even if an output has its name.
  const outputs = [STATE, ...plan.outputs.filter(({ name }) => name !== STATE.name)];
  const parts: ResultPart[] = [];
  let room = maxBytes;
  for (const output of outputs) {
    const info = store.info(nameInRun(run, output.name, plan.runNames));
    if (info === undefined) continue;
    const { visibility, type, bytes } = info;
    const isShowable = visibility !== "secret" && type !== "bytes" && bytes <= room;
    const value = isShowable ? await store.read(info.name) : undefined;
    const written = value === undefined ? 0 : encoding.byteLength(JSON.stringify(value));
    const shown = written > room ? undefined : value;
    if (shown !== undefined) room -= written;
    parts.push({ output, info, shown, handle: { $var: info.name } });
  }
  return parts;
}

/**
 * A run's result: its state, plus the outputs that are not in it. An output whose name is a key of the state
 * is shown under `variable:name`. A state that is not an object is shown under `state`.
 */
export function resultOf(
  parts: readonly (Pick<ResultPart, "output" | "shown"> & { readonly handle: Json })[],
): Json {
  const state = parts.find(({ output }) => output === STATE);
  const outputs = parts.filter((part) => part !== state);
  const own = state?.shown ?? state?.handle ?? {};
  if (outputs.length === 0) return own;
  const isHandle = state !== undefined && state.shown === undefined;
  const entries = new Map<string, Json>(
    json.isJsonObject(own) && !isHandle ? Object.entries(own) : [[STATE.name, own]],
  );
  for (const { output, shown, handle } of outputs) {
    const { name } = output;
    entries.set(entries.has(name) ? `variable:${name}` : name, shown ?? handle);
  }
  return Object.fromEntries(entries);
}

/** A variable of a run that belongs to its result. */
interface ResultPart {
  readonly output: PlanOutput;
  readonly info: VariableInfo;
  /** Undefined for a value that is too large or secret. A handle replaces it. */
  readonly shown: Json | undefined;
  readonly handle: Json;
}

function handleOf(info: VariableInfo, value: Json | undefined, name: string | undefined): Json {
  const shown = toolOutputs.shownResult(info, value);
  const { $var: _, ...described } = json.isObject(shown) && json.isJsonObject(shown) ? shown : {};
  return json.compact({ $var: name, ...described });
}
