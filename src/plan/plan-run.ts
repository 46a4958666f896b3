import * as limits from "../limits.ts";
import { ByrefError, codeOf, messageOf } from "../errors.ts";
import type { CheckedCall, CheckedPlan } from "./check-plan.ts";
import { waitsFor } from "./gates.ts";
import {
  type CallState,
  type GateDecision,
  isOpenRun,
  type RunRecord,
  type RunStatus,
  stateIn,
  OUTCOME_UNKNOWN,
} from "./plan-record.ts";
import type { PlanCall } from "./plan.ts";
import { deniedReason, type Progress, readinessOf } from "./readiness.ts";
import { GATES, nameInRun, scopeOfRun } from "./run-names.ts";
import { LookupWork } from "../reference/lookup.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Observer } from "../tool/observer.ts";
import { saved } from "../tool/prepared-save.ts";
import type { SaveTarget } from "../tool/save-target.ts";
import type { CallOptions, Effects, Ready, WrappedTool } from "../tool/wrapped-tool.ts";
import { clip } from "../value/characters.ts";
import { workOfRun } from "../value/work.ts";

export interface PlanRunOptions {
  readonly checked: CheckedPlan;
  /** As it was written down last: a new one, or one that goes on. */
  readonly record: RunRecord;
  readonly store: VariableStore;
  /** By the names that the plan calls them by. */
  readonly tools: Pick<ReadonlyMap<string, WrappedTool>, "get">;
  readonly effectsOf: (call: PlanCall) => Effects;
  /** The prefix of tools' idempotency keys. */
  readonly keyPrefix: string;
  /** Ends the run: no further call starts. */
  readonly signal: AbortSignal;
  /** What `work` does, and the record that it returns, in one commit. */
  readonly commit: (work: () => RunRecord) => void;
  /** Told of each change of a call, inside of its commit. */
  readonly onCall?: (id: string, state: CallState) => void;
  /** Called before a tool is, which waits for it; what it throws fails the call. */
  readonly onStart?: () => Promise<void>;
  /** Told of the calls of tools. */
  readonly observer?: Observer | undefined;
}

/** One attempt at a run of a plan. */
export class PlanRun {
  /** As it was written down last. */
  record: RunRecord;
  readonly #options: PlanRunOptions;
  readonly #running = new Map<number, Promise<void>>();
  readonly #progress: Progress;
  /** Of all calls. */
  readonly #reads = workOfRun();
  /** A gate was decided on while calls ran. */
  #wake: () => void = () => undefined;
  /** Nothing goes on any more: what still comes of calls is not this attempt's to write. */
  #hasEnded = false;
  readonly #broken = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: PlanRunOptions) {
    this.#options = options;
    this.record = options.record;
    this.#signal = AbortSignal.any([options.signal, this.#broken.signal]);
    this.#progress = {
      stateOf: (call) => this.#stateOf(call),
      idOf: (call) => this.#idOf(call),
      decisionOn: (gate) =>
        Object.hasOwn(this.record.gates, gate) ? this.record.gates[gate] : undefined,
    };
  }

  /** Opens a gate, or says that it stays closed; false if no call that is left waits for it here. */
  async decide(gate: string, decision: GateDecision): Promise<boolean> {
    if (!this.#waitsFor(gate)) return false;
    const { id } = this.record;
    const name = nameInRun(id, GATES, []);
    // What reads it may read it as a value, too.
    const path = [{ key: gate }];
    const value = decision.approved;
    const write = await this.#options.store.prepare({ name, path, value, run: id });
    // Meanwhile somebody else may have decided.
    if (!this.#waitsFor(gate)) {
      write.discard();
      return false;
    }
    this.#set({ gates: { ...this.record.gates, [gate]: decision } }, () => void write.commit());
    this.#wake();
    return true;
  }

  /**
   * Runs what can run, `maxParallelCalls` at once, each as soon as what it reads is there, until all calls are
   * done, failed or skipped, or wait for a person. A call that had begun when a crash cut it off is called
   * again with the same key if its tool says that this does no harm. Resolves with the record as it was
   * written down last; rejects only if the storage fails.
   */
  async run(): Promise<RunRecord> {
    try {
      await this.#run();
      return this.record;
    } catch (error) {
      this.#broken.abort(error);
      throw error;
    } finally {
      this.#hasEnded = true;
    }
  }

  async #run(): Promise<void> {
    const { checked, signal } = this.#options;
    for (const [index, call] of checked.calls.entries()) this.#recover(call, index);
    for (;;) {
      if (!signal.aborted) this.#startReady();
      if (this.#running.size === 0) break;
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([news, ...this.#running.values()]);
    }
    if (signal.aborted) this.#skipRest("The run was cancelled.");
    this.#set({ status: this.#statusAtEnd() });
  }

  /** Starts what may start; skips what never will, which may make further calls ready. */
  #startReady(): void {
    const { checked } = this.#options;
    for (let hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (const [index, call] of checked.calls.entries()) {
        if (this.#stateOf(index).status !== "waiting" || this.#running.has(index)) continue;
        if (checked.plan.order === "written" && !this.#isNext(index)) break;
        if (this.#awaitsApproval(index)) continue;
        const ready = readinessOf(call, this.#progress);
        if (ready.kind === "skipped") {
          this.#setCall(call, { status: "skipped", reason: ready.reason });
          hasChanged = true;
        } else if (ready.kind === "waiting" && ready.gate !== undefined) {
          this.#ask(call, { gate: ready.gate, reason: `Waits for approvals.${ready.gate}.` });
        } else if (ready.kind === "ready" && this.#running.size < limits.maxParallelCalls) {
          this.#start(call, index);
        }
      }
    }
  }

  /** In the written order: when all before it have an end. */
  #isNext(index: number): boolean {
    const states = this.#options.checked.calls.slice(0, index).map((_, at) => this.#stateOf(at));
    return states.every(({ status }) => status !== "waiting" && status !== "running");
  }

  #start(call: CheckedCall, index: number): void {
    const running = this.#call(call).finally(() => this.#running.delete(index));
    this.#running.set(index, running);
  }

  async #call(checked: CheckedCall): Promise<void> {
    const { tools, store } = this.#options;
    const { call } = checked;
    const begun = stateIn(this.#options.record, call.id);
    try {
      const ready = await tools.get(call.tool)?.prepare(call.parameters, this.#optionsFor(checked));
      if (ready === undefined) throw new ByrefError("unknown_tool", `${call.tool} is gone.`);
      if (ready.kind === "failed") throw new ByrefError(ready.code, ready.message);
      if (this.#needsApproval(checked, ready)) return;
      // The key stands for an input: with another one nobody knows what it did.
      const wasSame = begun.status !== "running" || begun.pin === ready.pin;
      if (!wasSame && this.#options.effectsOf(call) === "idempotent") throw unknownOutcome();
      // A run that is cancelled does not wait for it.
      await this.#options.onStart?.().catch((error: unknown) => this.#unlessStopped(error));
      if (this.#signal.aborted) return;
      const { gate } = stateIn(this.record, call.id);
      const asked = gate === undefined ? {} : { gate };
      this.#setCall(checked, { status: "running", pin: ready.pin, ...asked });
      const run = await ready.run();
      if (run.kind === "failed") throw new ByrefError(run.code, run.message);
      // No event comes in between a save that has been waited for and what follows it.
      const { info, places } = await saved(run.prepare);
      const isKept = info !== undefined || places !== undefined;
      if (!isKept && checked.target !== undefined) throw tooLarge(call.tool);
      if (info !== undefined) store.holds.hold(this.record.id, info.name);
      this.#setCall(checked, { status: "done", places: places ?? [] });
    } catch (error) {
      this.#setCall(checked, failedWith(error));
    }
  }

  #unlessStopped(error: unknown): void {
    if (!this.#signal.aborted) throw error;
  }

  #optionsFor({ call, target }: CheckedCall): CallOptions {
    const { keyPrefix, observer } = this.#options;
    return {
      toolCallId: `${this.record.id}/${call.id}`,
      messages: [],
      isPlanned: true,
      signal: this.#signal,
      idempotencyKey: `${keyPrefix}/${this.record.id}/${call.id}`,
      scope: scopeOfRun(this.record.id, this.#options.checked.plan),
      observer,
      work: new LookupWork(1, { whole: this.#reads }),
      ...(target === undefined ? {} : { saveTo: this.#inRun(target) }),
    };
  }

  #inRun({ operator, places }: SaveTarget): SaveTarget {
    return {
      operator,
      places: places.map((place) => {
        const name = this.#nameOf(place.name);
        return name === place.name ? place : { ...place, name, run: this.record.id };
      }),
    };
  }

  #nameOf(name: string): string {
    return nameInRun(this.record.id, name, this.#options.checked.plan.runNames);
  }

  /** A call that had begun when a crash cut it off. */
  #recover(call: CheckedCall, index: number): void {
    if (this.#stateOf(index).status !== "running") return;
    const isRepeatable = this.#options.effectsOf(call.call) !== "once";
    const again: CallState = { ...this.#stateOf(index), status: "waiting" };
    this.#setCall(call, isRepeatable ? again : failedWith(unknownOutcome()));
  }

  #waitsFor(gate: string): boolean {
    return (
      !this.#hasEnded &&
      isOpenRun(this.record) &&
      waitsFor(this.#options.checked.plan, this.record, gate)
    );
  }

  #skipRest(reason: string): void {
    for (const [index, call] of this.#options.checked.calls.entries()) {
      const isLeft = this.#stateOf(index).status === "waiting";
      if (isLeft) this.#setCall(call, { status: "skipped", reason });
    }
  }

  #ask(call: CheckedCall, about: Pick<CallState, "gate" | "reason">): void {
    this.#setCall(call, { status: "waiting", ...about });
  }

  /** Does it wait for a person, who has not answered yet? */
  #awaitsApproval(index: number): boolean {
    const { gate } = this.#stateOf(index);
    return gate !== undefined && this.#progress.decisionOn(gate) === undefined;
  }

  /**
   * What a person approved was the plan, and what its gates stand for. A call that the policy asks a person
   * about has a gate of its own beside them, which names the run, the call and the input: what is approved
   * there, with the input in view, is what runs.
   */
  #needsApproval(checked: CheckedCall, { approval, pin }: Ready): boolean {
    if (approval === undefined) return false;
    const gate = `${this.record.id}.${checked.call.id}.${pin.slice(0, PIN_CHARS)}`;
    const decision = this.#progress.decisionOn(gate);
    if (decision?.approved === true) return false;
    if (decision !== undefined) {
      this.#setCall(checked, { status: "skipped", reason: deniedReason(gate, decision) });
    } else {
      const { reason, input: asked } = approval;
      this.#setCall(checked, { status: "waiting", gate, reason, asked });
    }
    return true;
  }

  #statusAtEnd(): RunStatus {
    if (this.#options.signal.aborted) return "cancelled";
    const { calls } = this.#options.checked;
    const states = new Set(calls.map((_, index) => this.#stateOf(index).status));
    if (states.has("waiting")) return "waiting";
    return states.has("failed") ? "failed" : "done";
  }

  #stateOf(index: number): CallState {
    return stateIn(this.record, this.#idOf(index));
  }

  #idOf(index: number): string {
    return this.#options.checked.calls[index]?.call.id ?? "";
  }

  #setCall({ call }: CheckedCall, { reason, ...others }: CallState): void {
    // All of them together are one row.
    const withReason =
      reason === undefined ? {} : { reason: clip(reason, limits.maxCallReasonChars) };
    const state = { ...others, ...withReason };
    this.#set({ calls: { ...this.record.calls, [call.id]: state } }, () =>
      this.#options.onCall?.(call.id, state),
    );
  }

  #set(changes: Partial<RunRecord>, work: () => void = () => undefined): void {
    if (this.#hasEnded) return;
    this.#options.commit(() => {
      this.record = { ...this.record, ...changes };
      work();
      return this.record;
    });
  }
}

/** Enough to tell one input of a call from another. */
const PIN_CHARS = 12;

/** A step that lacks what it needs is not to blame. */
function failedWith(error: unknown): CallState {
  const code = codeOf(error);
  if (code === "input_missing") return { status: "skipped", reason: messageOf(error) };
  return { status: "failed", reason: `${code}: ${messageOf(error)}` };
}

function unknownOutcome(): ByrefError {
  return new ByrefError(OUTCOME_UNKNOWN.code, OUTCOME_UNKNOWN.message);
}

function tooLarge(tool: string): ByrefError {
  return new ByrefError("limit_exceeded", `The result of ${tool} was too large to be kept.`);
}
