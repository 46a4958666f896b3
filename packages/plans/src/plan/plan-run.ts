import * as limits from "../../../../src/limits.ts";
import { ByrefError, codeOf, messageOf } from "../../../../src/errors.ts";
import type { CheckedCall, CheckedPlan, CheckedNeed, Writer, Writers } from "./check-plan.ts";
import { waitsFor } from "./gates.ts";
import {
  type CallState,
  type GateDecision,
  isOpenRun,
  type RunRecord,
  type RunStatus,
  stateIn,
  OUTCOME_UNKNOWN,
  GATES,
  keptName,
  nameInRun,
  scopeOfRun,
} from "./plan-record.ts";
import {
  type Observer,
  type PlanCall,
  scopes,
  toolInputs,
  toolOutputs,
  type saveTargets,
  policies,
  type wraps,
} from "../../../../src/internal-tool.ts";
import {
  characters,
  json,
  LookupWork,
  type VariableStore,
  Work,
} from "../../../../src/internal.ts";
import type { Effects } from "../../../../src/runtime.ts";
import { type Json, type Lookup, resolveReferences } from "../../../../src/references.ts";

export interface PlanRunOptions {
  readonly checked: CheckedPlan;
  /** The last written record, of a new run or of one that continues. */
  readonly record: RunRecord;
  readonly store: VariableStore;
  /** Tools by the names that the plan uses. */
  readonly tools: Pick<ReadonlyMap<string, wraps.WrappedTool>, "get">;
  readonly effectsOf: (call: PlanCall) => Effects;
  readonly keyPrefix: string;
  /** Ends the run: no further call starts. */
  readonly signal: AbortSignal;
  /** Runs `work` and stores the record that it returns, in one commit. */
  readonly commit: (work: () => RunRecord) => void;
  /** Called for each change of a call, within its commit. */
  readonly onCall?: (id: string, state: CallState) => void;
  /** Called and awaited before a tool is called. If it throws, the call fails. */
  readonly onStart?: () => Promise<void>;
  readonly observer?: Observer | undefined;
}

/** One attempt at a plan run. */
export class PlanRun {
  record: RunRecord;
  readonly #options: PlanRunOptions;
  readonly #running = new Map<number, Promise<void>>();
  /** The work that all calls share. */
  readonly #reads = new Work({ bound: "maxRunReadWork" });
  /** Continues the loop after a decision on a gate while calls run. */
  #wake: () => void = () => undefined;
  /** True when the attempt is over. Later results of calls are not written. */
  #hasEnded = false;
  readonly #broken = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: PlanRunOptions) {
    this.#options = options;
    this.record = options.record;
    this.#signal = AbortSignal.any([options.signal, this.#broken.signal]);
  }

  /**
   * Records a decision on a gate: open or closed. Returns false if no remaining call waits for the gate here.
   */
  async decide(gate: string, decision: GateDecision): Promise<boolean> {
    if (!this.#waitsFor(gate)) return false;
    const { id } = this.record;
    const name = nameInRun(id, GATES, []);
    // A call may also read the gate as a value.
    const path = [{ key: gate }];
    const value = decision.approved;
    const write = await this.#options.store.prepare({ name, path, value, run: id });
    // Another decision may have arrived meanwhile.
    if (!this.#waitsFor(gate)) {
      write.discard();
      return false;
    }
    this.#set({ gates: { ...this.record.gates, [gate]: decision } }, () => void write.commit());
    this.#wake();
    return true;
  }

  /**
   * Runs all calls that can run, at most `maxParallelCalls` at once. Each call starts as soon as the values
   * that it reads exist. Ends when all calls are done, failed or skipped, or wait for a person. A call that
   * had begun before a crash is called again with the same key, if its effects allow it. Resolves with the
   * last written record. Rejects only if the storage fails.
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
    const reason = "The run was cancelled.";
    for (const [index, call] of signal.aborted ? checked.calls.entries() : []) {
      const isLeft = this.#stateOf(index).status === "waiting";
      if (isLeft) this.#setCall(call, { status: "skipped", reason });
    }
    this.#set({ status: this.#statusAtEnd() });
  }

  /** Starts calls that may start. Skips calls that never will, which may make further calls ready. */
  #startReady(): void {
    const { checked } = this.#options;
    for (let hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (const [index, call] of checked.calls.entries()) {
        const { status, gate } = this.#stateOf(index);
        if (status !== "waiting" || this.#running.has(index)) continue;
        // It waits for a person.
        if (gate !== undefined && this.#decisionOn(gate) === undefined) continue;
        const ready = this.#readinessOf(call);
        if (ready.kind === "skipped") {
          this.#setCall(call, { status: "skipped", reason: ready.reason });
          hasChanged = true;
        } else if (this.#running.size < limits.maxParallelCalls) {
          if (ready.kind === "ready") this.#start(index, this.#call(call));
          else if (ready.gate !== undefined) this.#start(index, this.#ask(call, ready.gate));
        }
      }
    }
  }

  #start(index: number, work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(index));
    this.#running.set(index, running);
  }

  async #call(checked: CheckedCall): Promise<void> {
    const { tools, store } = this.#options;
    const { call } = checked;
    const begun = stateIn(this.#options.record, call.id);
    let { pin } = begun;
    try {
      const [place] = checked.target?.places ?? [];
      if (this.#remakes && place !== undefined && store.info(place.name)?.stale === undefined) {
        // Another run was faster.
        const output = { $var: place.name };
        return this.#setCall(checked, { status: "done", places: [place.source], output });
      }
      const ready = await tools.get(call.tool)?.prepare(call.parameters, this.#optionsFor(checked));
      if (ready === undefined) throw new ByrefError("unknown_tool", `${call.tool} is gone.`);
      if (ready.kind === "failed") throw new ByrefError(ready.code, ready.message);
      if (await this.#needsApproval(checked, ready)) return;
      // The key belongs to one input. With another input, the effect of the first call is unknown.
      const wasSame = begun.pin === undefined || begun.pin === ready.pin;
      if (!wasSame && this.#options.effectsOf(call) === "idempotent") throw unknownOutcome();
      // A cancelled run does not wait for it.
      await this.#options.onStart?.().catch((error: unknown) => {
        if (!this.#signal.aborted) throw error;
      });
      if (this.#signal.aborted) return;
      const { gate, shown } = stateIn(this.record, call.id);
      this.#setCall(checked, {
        status: "running",
        pin: (pin = ready.pin),
        ...json.compact({ gate, shown }),
      });
      const run = await ready.run();
      if (run.kind === "failed") {
        // After a time-out, or with a result that cannot be saved, it may have had its effect.
        const hasFailed = run.code === "tool_failed" || run.code === "skipped";
        if (hasFailed && !this.#signal.aborted) pin = undefined;
        throw new ByrefError(run.code, run.message);
      }
      // No event interleaves between the awaited save and the following lines.
      const { info, places, kept, ...saved } = await run.save();
      const isKept = info !== undefined || places !== undefined;
      if (!isKept && checked.target !== undefined) throw tooLarge(call.tool);
      if (info !== undefined) store.holds.hold(this.record.id, info.name);
      // Outputs consist of JSON.
      const output = saved.shown ?? toolOutputs.shortOutput(saved.output as Json);
      this.#setCall(checked, {
        status: "done",
        places: places ?? [],
        output,
        ...json.compact({ kept }),
      });
    } catch (error) {
      this.#setCall(checked, failedWith(error, pin));
    }
  }

  #optionsFor({ call, target }: CheckedCall): wraps.CallOptions {
    const { keyPrefix, observer, checked } = this.#options;
    return {
      toolCallId: `${this.record.id}/${call.id}`,
      messages: [],
      isPlanned: true,
      signal: this.#signal,
      idempotencyKey: `${keyPrefix}/${this.record.id}/${call.id}`,
      scope: scopeOfRun(this.record.id, checked),
      ...(this.#remakes
        ? { remakes: true }
        : { keepAs: keptName(this.record.id, checked.plan, call.id) }),
      observer,
      work: new LookupWork({ whole: this.#reads }),
      ...(target === undefined ? {} : { saveTo: this.#inRun(target) }),
    };
  }

  get #remakes(): boolean {
    return this.#options.checked.plan.remakes === true;
  }

  #inRun({ operator, places }: saveTargets.SaveTarget): saveTargets.SaveTarget {
    const run = this.record.id;
    const inRun = places.map((place) => {
      const name = nameInRun(run, place.name, this.#options.checked.plan.runNames);
      return name === place.name ? place : { ...place, name, run };
    });
    return { operator, places: inRun };
  }

  /** Restarts or fails a call that had begun when a crash cut it off. */
  #recover(call: CheckedCall, index: number): void {
    if (this.#stateOf(index).status !== "running") return;
    const isRepeatable = this.#options.effectsOf(call.call) !== "once";
    const again: CallState = { ...this.#stateOf(index), status: "waiting" };
    this.#setCall(call, isRepeatable ? again : failedWith(unknownOutcome(), again.pin));
  }

  #waitsFor(gate: string): boolean {
    return (
      !this.#hasEnded &&
      isOpenRun(this.record) &&
      waitsFor(this.#options.checked.plan, this.record, gate)
    );
  }

  async #ask(call: CheckedCall, gate: string): Promise<void> {
    const { text: asked, digest } = await this.#inputNow(call);
    // The gate may have been opened meanwhile.
    if (this.#decisionOn(gate) !== undefined) return;
    const reason = `Waits for approvals.${gate}.`;
    // A person who opened an earlier gate saw the input of that time.
    const { shown = digest, ...begun } = stateIn(this.record, call.call.id);
    this.#setCall(call, { ...begun, gate, reason, asked, shown });
  }

  /** The input with which a call would run now, as a shortened text for people, and a digest of all of it. */
  async #inputNow({ call: { tool, parameters } }: CheckedCall) {
    const { checked, store } = this.#options;
    // Has no secrets: they stay as they are written.
    const values = scopes.lookupFor(scopeOfRun(this.record.id, checked), store, {});
    // The call runs only after its gates have been opened.
    const lookup: Lookup = (reference, sharedWork) =>
      reference.name === GATES ? { found: true, value: true } : values(reference, sharedWork);
    const work = new LookupWork({ whole: this.#reads });
    const { syntaxes } = checked.plan;
    const resolved = await resolveReferences(parameters, lookup, { syntaxes, work }).then(
      ({ value }) => value,
      // Errors in references are reported when the call runs.
      () => parameters,
    );
    const about = { tool, input: parameters, resolved, references: [] };
    return {
      text: policies.approvalRequest(about).input,
      digest: await toolInputs.digestOf(resolved),
    };
  }

  /**
   * Makes the call wait, or skips it, if it needs an approval of its own. Approving the plan covers the plan and its
   * gates. A call that needs approval by policy, and one whose input has changed since a person saw it at a gate, has
   * an additional gate, which names the run, the call and the pin: the input that a person approves is what runs.
   */
  async #needsApproval(checked: CheckedCall, { approval, pin }: wraps.Ready): Promise<boolean> {
    const { id } = checked.call;
    const { gate, shown, pin: begun } = stateIn(this.record, id);
    // A denial is final, also if the input changes.
    const denied = gate === undefined ? undefined : this.#decisionOn(gate);
    if (gate !== undefined && denied?.approved === false) {
      this.#setCall(checked, { status: "skipped", reason: deniedReason(gate, denied) });
      return true;
    }
    if (approval === undefined && shown === undefined) return false;
    const { text: asked, digest } = await this.#inputNow(checked);
    const own = `${this.record.id}.${id}.${pin}`;
    const hasChanged = shown !== undefined && shown !== digest;
    const reason = approval?.reason ?? (hasChanged ? CHANGED : undefined);
    if (this.#decisionOn(own)?.approved === true || reason === undefined) return false;
    const asks = { gate: own, reason, asked, shown: digest, ...json.compact({ pin: begun }) };
    this.#setCall(checked, { status: "waiting", ...asks });
    return true;
  }

  /** Determines a call's readiness from the states of the calls that it depends on. */
  #readinessOf(call: CheckedCall): Readiness {
    for (const before of call.dependsOn) {
      const { status } = this.#stateOf(before);
      if (status === "waiting" || status === "running") return { kind: "waiting" };
    }
    for (const need of call.needs) {
      const reason = this.#whyUnmet(need);
      if (reason !== undefined) return { kind: "skipped", reason };
    }
    for (const gate of call.gates) {
      const decision = this.#decisionOn(gate);
      if (decision === undefined) return { kind: "waiting", gate };
      if (!decision.approved) return { kind: "skipped", reason: deniedReason(gate, decision) };
    }
    return { kind: "ready" };
  }

  /** Why the need is not met. Undefined if it is met. */
  #whyUnmet({ operator, writers, source }: CheckedNeed): string | undefined {
    const reasons = new Set<string>();
    for (const found of writers) {
      const reason = found === undefined ? undefined : this.#whyMissing(found);
      if (reason === undefined && operator === "first") return undefined;
      if (reason !== undefined && reasons.size < MAX_NAMED) reasons.add(reason);
    }
    if (reasons.size === 0) return undefined;
    return `${characters.clip(source, MAX_SOURCE_CHARS)} is not there: ${[...reasons].join("; ")}.`;
  }

  #whyMissing({ whole, parts }: Writers): string | undefined {
    const hasWritten = ({ call, source }: Writer) => {
      const { status, places = [] } = this.#stateOf(call);
      return status === "done" && (source === undefined || places.includes(source));
    };
    if (whole.some(hasWritten)) return undefined;
    const failed = parts.find(({ call }) => this.#stateOf(call).status !== "done");
    if (failed === undefined && parts.some(hasWritten)) return undefined;
    const [writer = failed] = failed === undefined ? [...whole, ...parts] : [failed];
    if (writer === undefined) return "nothing writes it";
    const { status } = this.#stateOf(writer.call);
    const id = this.#idOf(writer.call);
    if (status === "done") return `${id} wrote elsewhere`;
    return `${id} ${status === "failed" ? "failed" : "was skipped"}`;
  }

  #decisionOn(gate: string): GateDecision | undefined {
    return Object.hasOwn(this.record.gates, gate) ? this.record.gates[gate] : undefined;
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
    // All states of a run together are one row, so reasons are shortened.
    const withReason =
      reason === undefined ? {} : { reason: characters.clip(reason, limits.maxReasonChars) };
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

/** A step without a required input is skipped, not failed. */
function failedWith(error: unknown, pin: string | undefined): CallState {
  const code = codeOf(error);
  if (code === "skipped") return { status: "skipped", reason: messageOf(error) };
  return { status: "failed", reason: `${code}: ${messageOf(error)}`, ...json.compact({ pin }) };
}

const CHANGED = "Its input has changed since it was shown for approval.";
const unknownOutcome = () => new ByrefError(OUTCOME_UNKNOWN.code, OUTCOME_UNKNOWN.message);
const tooLarge = (tool: string) =>
  new ByrefError("limit_exceeded", `The result of ${tool} was too large to be kept.`);

type Readiness =
  | { readonly kind: "ready" }
  | { readonly kind: "waiting"; readonly gate?: string }
  | { readonly kind: "skipped"; readonly reason: string };

function deniedReason(gate: string, { reason }: GateDecision): string {
  return `approvals.${gate} was denied${reason === undefined ? "." : `: ${reason}`}`;
}

/** Maximum number of writers named in a reason. The missing paths are limited too. */
const MAX_NAMED = 3;
const MAX_SOURCE_CHARS = 200;
