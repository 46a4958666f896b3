import type { FinishReason, ModelMessage, UIMessageChunk } from "ai";
import { ByrefError, codeOf, limitExceeded, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { LookupWork } from "../reference/lookup.ts";
import type { Reference } from "../reference/reference.ts";
import { splitNumber } from "../store/names.ts";
import type { PreparedWrite } from "../store/variable-store.ts";
import type { VariableStore } from "../store/variables.ts";
import { diffsOfEdited } from "../tool/edit/edited-diffs.ts";
import { type Failed, noSuchTool, shownInput } from "../tool/policy.ts";
import { isGuarded } from "../tool/save-target.ts";
import {
  type CallFlow,
  NO_FLOW,
  type Prepared,
  type Ready,
  type Saved,
  type ToolRun,
  type Written,
} from "../tool/wrapped-tool.ts";
import { clip } from "../value/characters.ts";
import { compact, isObject } from "../value/json.ts";
import type { Path } from "../value/path.ts";
import { tagsOf } from "./agent.ts";
import { Answer, type AnswerOptions } from "./answer.ts";
import type { WrittenCall } from "./history/message-parts.ts";
import type { JournalCall, JournalEntry } from "./log/journal.ts";
import { toTurnMessages } from "./history/prompt.ts";
import { callModel, type CallResult, REDUCED } from "./model/model-call.ts";
import { openPrompts, type PromptOptions, type Prompts } from "./prompts.ts";
import { type Remaker, remakerFor } from "./remake.ts";
import type { ToolboxOptions } from "./toolbox.ts";
import type { RecoveredLog } from "./log/recovery.ts";
import type { TurnContext } from "./turn-context.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { DecidedCall, ToolCall } from "./waiting-calls.ts";

interface StepsOptions
  extends AnswerOptions, Pick<PromptOptions, "window" | "outline" | "variables"> {
  /** Distinguishes the text ids of an attempt from those of the previous one. Empty for the first attempt. */
  readonly idSuffix: string;
  readonly toolbox: ToolboxOptions;
}

interface Planned {
  readonly call: JournalCall;
  readonly ready: Ready;
}

interface PreparedCall<Call extends ToolCall = ToolCall> {
  readonly call: Call & Pick<JournalCall, "idempotencyKey">;
  readonly ready: Prepared;
}

/**
 * Runs the steps of a turn: calls the model, writes its tool calls to the journal, runs the tools, writes
 * their outcomes, and calls the model again.
 */
export class Steps {
  readonly #context: TurnContext;
  readonly #options: StepsOptions;
  readonly #state: TurnState;
  readonly #answer: Answer;
  readonly #remaker: Remaker;
  #opened: Prompts | undefined;
  /** What the model has read when it wrote the calls: the past messages, and those of the turn. */
  #messages: readonly ModelMessage[] = [];
  /** What calls read and write, by input. */
  readonly #flows = new WeakMap<object, CallFlow>();
  /** Chunks about calls, to be shown and written to the journal in the next commit. */
  #unrecorded: UIMessageChunk[] = [];
  /** True while the newest step has no complete model answer. */
  #isOpen = false;
  /** Results of the provider's tools whose calls are in earlier steps, to be written to the journal. */
  readonly #late: UIMessageChunk[] = [];
  /** The error of the provider that has refused a prompt: all later ones of the turn are reduced. */
  #refused: CallResult["refused"];
  /** True if the current step ends with its calls. False after a wait for a person. */
  #hasStep = false;

  constructor(context: TurnContext, options: StepsOptions) {
    const { state } = options;
    this.#context = context;
    this.#options = options;
    this.#state = state;
    this.#remaker = remakerFor(context, () => this.#opened?.tools);
    this.#answer = new Answer(context, { ...options, remaker: this.#remaker });
    // The text before the wait may have left a URL open.
    this.#answer.restart(state.parts.display);
  }

  /** Prepares the tools and the past messages, once. */
  async open(): Promise<void> {
    const { id: owner, taint, prompt: own } = this.#state;
    this.#opened ??= await openPrompts(this.#context, { ...this.#options, taint, owner, own });
  }

  /** Calls the model until it requests no more tools. */
  async run(): Promise<FinishReason> {
    for (;;) {
      this.#context.signal.throwIfAborted();
      const result = await this.#callModel();
      await this.#answer.endStep();
      this.#endParts();
      // An answer that was cut off or filtered may contain a partial call. As in the SDK, no call runs then.
      const isComplete = result.finishReason === "stop" || result.finishReason === "tool-calls";
      const hasCalls = result.calls.length + result.invalidCalls > 0;
      if (!isComplete || !(hasCalls || this.#isPending)) {
        if (!isComplete)
          this.#closeOpen("skipped", `The answer is not complete (${result.finishReason}).`);
        void this.#write({ type: "finish-step" });
        return result.finishReason;
      }
      this.#isOpen = false;
      // A call that was written twice is one.
      const calls = new Map(result.calls.map((call) => [call.toolCallId, call])).values();
      const planned = await this.#plan([...calls]);
      const progress = () => {
        const chunks = this.#late.splice(0);
        return { step: this.#state.parts.step(), ...(chunks.length > 0 && { chunks }) };
      };
      const reason = await this.#runCalls(planned, { progress });
      if (reason !== undefined) return reason;
    }
  }

  /**
   * Returns the decisions with the pins of the inputs that a person wrote. Such an input is checked like a model's:
   * if it may not run, throws the error, and nothing is decided. There is no pin if what the person was shown is
   * out of date: then approval of the new input is requested.
   */
  async pinned(decided: readonly DecidedCall[]): Promise<readonly DecidedCall[]> {
    await this.open();
    await this.#readMessages();
    const { approvals } = this.#state;
    const written = decided.filter(({ approval: { input } }) => input !== undefined);
    const prepared = await this.#prepareAll(written.map(approvedCall));
    const calls = written.map(({ call }) => call);
    const waited = await this.#prepareAll(calls);
    return decided.map((one): DecidedCall => {
      const at = written.indexOf(one);
      const [now, before] = [prepared[at]?.ready, waited[at]?.ready];
      if (now?.kind === "failed") throw new ByrefError(now.code, now.message);
      const asked = approvals.about(one.approval.approvalId);
      const pin = before?.kind === "ready" && before.pin === asked ? now?.pin : undefined;
      return { ...one, approval: { ...one.approval, ...compact({ pin }) } };
    });
  }

  /**
   * Applies a person's decisions on waiting calls. If an input has changed since, the call differs from the approved
   * one, and approval is requested again. Returns a reason if the turn ends there.
   */
  async decide(decided: readonly DecidedCall[]): Promise<FinishReason | undefined> {
    await this.#readMessages();
    const { approvals } = this.#state;
    const allowed = decided.flatMap((one) => {
      const asked = approvals.take(one.approval.approvalId);
      const { approved, pin = asked } = one.approval;
      return approved ? [{ ...approvedCall(one), ...compact({ pin }) }] : [];
    });
    const prepared = await this.#prepareAll(allowed);
    for (const one of decided) {
      const { toolCallId } = one.call;
      this.#answerDecided(one, prepared.find(({ call }) => call.toolCallId === toolCallId)?.ready);
    }
    return this.#runCalls(prepared.flatMap((one) => this.#admit(one, one.call.pin)));
  }

  /**
   * Handles the calls that a crash cut off. A tool is called again, with the same key, only if its effects are declared
   * harmless to repeat. Returns a reason if the turn ends there.
   */
  async recoverCalls(begun: readonly JournalCall[]): Promise<FinishReason | undefined> {
    if (begun.length === 0 && this.#deferred === undefined) return this.#afterCalls();
    await this.#readMessages();
    const { tools } = this.#required;
    const repeatable = begun.filter(({ toolName }) => tools.effectsOf(toolName) !== "once");
    for (const call of begun) if (!repeatable.includes(call)) this.#refuse(call, OUTCOME_UNKNOWN);
    const prepared = await this.#prepareAll(repeatable);
    const planned = prepared.flatMap(({ call, ready }) => {
      const [admitted] = this.#admit({ call, ready }, call.isApproved ? call.pin : undefined);
      // The key belongs to one input. With another input, the effect of the first call is unknown.
      const needsSame = tools.effectsOf(call.toolName) === "idempotent";
      const isUnknown = needsSame && admitted !== undefined && admitted.call.pin !== call.pin;
      return isUnknown ? this.#refuse(call, OUTCOME_UNKNOWN) : (admitted ?? []);
    });
    this.#state.begun.clear();
    for (const { call } of planned) this.#state.begun.set(call.toolCallId, call);
    return this.#runCalls(planned, { isBegun: true });
  }

  /** What to tell a person about the turn's prompts. */
  get notice(): { readonly outlined?: string } {
    if (this.#refused === undefined) return {};
    const what = `The model's provider refused the prompt, and received ${REDUCED}`;
    return { outlined: `${what}: ${this.#refused}` };
  }

  startStep(): void {
    this.#isOpen = true;
    this.#hasStep = true;
    void this.#write({ type: "start-step" });
  }

  /** Removes the model's output of this step before the model is called again. */
  resetStep(): void {
    this.#state.parts.add({ type: "reset-step" });
    this.#late.length = 0;
    this.#answer.restart(this.#state.parts.display);
    this.#context.emit({ type: "reset-step" });
  }

  /** Continues from the state. `isOpen`: the model had not finished the newest step. */
  restore({ entries, calls }: RecoveredLog, isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#hasStep = isOpen || entries.some(({ step }) => step !== undefined);
    for (const call of calls) this.#state.begun.set(call.toolCallId, call);
    if (isOpen) this.#state.parts.add({ type: "start-step" });
    this.#answer.restart(this.#state.parts.display);
  }

  /**
   * Gives every open call an outcome when a turn was stopped or has failed, because the model reads the
   * history. A call that had begun and must not run twice gets an unknown outcome.
   */
  closeCalls(): void {
    for (const chunk of this.#unrecorded.splice(0)) void this.#write(chunk);
    this.#closeOpen("turn_stopped", STOPPED);
    this.#state.waiting.clear();
  }

  /** Gives every open call an outcome. `why`: the reason for those that did not run. */
  #closeOpen(code: "turn_stopped" | "skipped", why: string): void {
    for (const call of this.#state.parts.calls().values()) {
      const { toolCallId, approvalId, isProvided, state, outcome } = call;
      if (outcome !== undefined || state === "input-streaming") continue;
      if (isProvided) {
        // Its result may come in a later answer, unless the turn ends.
        if (code !== "turn_stopped") continue;
        const about = { toolCallId, errorText: `${code}: ${why}`, providerExecuted: true };
        // Not `#write`: the error is ours, so the model has seen nothing untrusted.
        this.#state.parts.add({ type: "tool-output-error", ...about });
        void this.#answer.write({ type: "tool-output-error", ...about });
        continue;
      }
      if (approvalId !== undefined) {
        const denied = { approvalId, approved: false, reason: why };
        void this.#write({ type: "tool-approval-response", ...denied });
        void this.#write({ type: "tool-output-denied", toolCallId });
        continue;
      }
      const begun = this.#state.begun.get(toolCallId);
      const isUnknown =
        begun !== undefined && this.#opened?.tools.effectsOf(begun.toolName) !== "none";
      const { code: known, message } = isUnknown ? OUTCOME_UNKNOWN : { code, message: why };
      const errorText = `${known}: ${message}`;
      void this.#write({ type: "tool-output-error", toolCallId, errorText });
    }
  }

  /** Ends the parts that are still being written, so that no client waits for their rest. */
  #endParts(): void {
    for (const chunk of this.#state.parts.endings()) void this.#write(chunk);
  }

  /** Emits held text at the turn's end, and ends open parts. */
  async flush(): Promise<void> {
    await this.#answer.endStep().catch(() => undefined);
    this.#endParts();
  }

  async #callModel(): Promise<CallResult> {
    const prompts = this.#required;
    await this.#readMessages();
    const request = { ...prompts.next(this.#messages), isReduced: this.#refused !== undefined };
    this.#state.prompt = prompts.record;
    const result = await callModel(this.#context, request, {
      write: (chunk) => this.#write(chunk),
      reset: () => this.resetStep(),
      idSuffix: this.#options.idSuffix,
    });
    this.#refused ??= result.refused;
    return result;
  }

  /**
   * Writes the calls to the journal, and runs them in parallel, each deferred call once those before it have an outcome.
   * Saves and shows results in the order of the calls; those that are ready together form one commit. `progress`: what is
   * written before they begin; by default the chunks about calls that are not in the journal yet. `isBegun`: the calls are
   * in it already. Throws the reason of the signal when it aborts.
   */
  async #runCalls(
    planned: readonly Planned[],
    { isBegun = false, progress }: { isBegun?: boolean; progress?: Progress } = {},
  ): Promise<FinishReason | undefined> {
    if (!isBegun || this.#unrecorded.length > 0)
      await this.#begin(isBegun ? [] : planned, planned.length === 0, progress);
    const running = planned.map(runningCall);
    for (let next = 0, tries = 0; ;) {
      while (this.#deferred !== undefined) {
        const more = await this.#release(this.#deferred);
        await this.#begin(more, next === running.length && more.length === 0);
        running.push(...more.map(runningCall));
      }
      if (next === running.length) return this.#afterCalls();
      await running[next]?.settled;
      this.#context.signal.throwIfAborted();
      const rest = running.slice(next);
      const saved = this.#save(await preparedOf(rest), rest.length, tries < MAX_TRIES);
      next += saved;
      tries = saved > 0 ? 0 : tries + 1;
    }
  }

  /** Writes the calls that begin to the journal. `isLast`: the step ends with them, unless a deferred call follows. */
  async #begin(
    planned: readonly Planned[],
    isLast: boolean,
    progress: Progress = () => ({ chunks: this.#unrecorded }),
  ): Promise<void> {
    const { log, signal, account } = this.#context;
    await account.spend("toolCalls", planned.length);
    signal.throwIfAborted();
    const calls = planned.map(({ call }) => call);
    log.commit(() => {
      for (const chunk of this.#unrecorded) void this.#write(chunk);
      this.#note({ ...progress(), calls });
      if (isLast) this.#closeStep();
    });
    for (const call of calls) this.#state.begun.set(call.toolCallId, call);
  }

  /**
   * Saves results and writes their chunks in one commit, up to the first that has to be prepared again. Returns how many.
   * `left`: the calls of the step that have no outcome yet.
   */
  #save(finished: readonly Finished[], left: number, canRetry: boolean): number {
    const { log, signal } = this.#context;
    const chunks: UIMessageChunk[] = [];
    log.commit(() => {
      for (const one of finished) {
        // An abort by the stop signal is not the call's outcome.
        if (signal.aborted) break;
        const chunk = this.#saveResult(one, canRetry || chunks.length > 0);
        if (chunk === undefined) break;
        chunks.push(chunk);
      }
      if (chunks.length === 0) return;
      for (const chunk of chunks) {
        void this.#write(chunk);
        if ("toolCallId" in chunk) this.#state.begun.delete(chunk.toolCallId);
      }
      this.#note({ chunks });
      if (chunks.length === left) this.#closeStep();
    });
    for (const { save } of finished) if ("discard" in save) save.discard();
    return chunks.length;
  }

  #afterCalls(): FinishReason | undefined {
    if (this.#state.hasWaiting) return "tool-calls";
    if (this.#isOpen) return undefined;
    const maximum = limits.maxSteps;
    const advice = "The model kept asking for tools; ask for less at once.";
    throw limitExceeded("maxSteps", { maximum, actual: maximum + 1, advice });
  }

  #note(entry: Omit<JournalEntry, "state">): void {
    this.#context.log.note({ ...entry, state: this.#state.counts });
    this.#unrecorded = [];
  }

  /** Ends the step, in the commit of its last outcome, and begins the next. Does nothing if a deferred call can follow. */
  #closeStep(): void {
    if (this.#deferred !== undefined) return;
    if (this.#hasStep) void this.#write({ type: "finish-step" });
    const { parts, hasWaiting } = this.#state;
    if (!hasWaiting && parts.steps < limits.maxSteps) this.startStep();
  }

  async #readMessages(): Promise<void> {
    const { past, tools } = this.#required;
    const { parts } = this.#state.parts;
    const isFirst = parts.every(({ type }) => type === "step-start");
    const message = this.#state.message(parts, 0);
    this.#messages = isFirst ? past : [...past, ...(await toTurnMessages(message, tools.all))];
  }

  /** True if the provider has paused its own tools, or returns their results in a later step. */
  get #isPending(): boolean {
    const { all } = this.#required.tools;
    return [...this.#state.parts.calls().values()].some(({ toolName, isProvided, state }) => {
      if (!isProvided || state !== "input-available") return false;
      const tool = Object.hasOwn(all, toolName) ? all[toolName] : undefined;
      return tool?.type === "provider" && tool.supportsDeferredResults === true;
    });
  }

  /** Stores the chunk as the model wrote it, and emits it with references expanded. */
  #write(chunk: UIMessageChunk): void | Promise<void> {
    if (isProvided(chunk)) {
      const call = this.#state.parts.calls().get(chunk.toolCallId);
      // Clients refuse the result of a call that there is not.
      if (call === undefined) return undefined;
      const { policies } = this.#context.agent;
      // For example from the web. The model reads it in full.
      if (policies?.[call.toolName]?.trusted !== true) this.#state.taint.add();
      if (!call.isInStep) this.#late.push(chunk);
    }
    if (chunk.type === "source-url" || chunk.type === "source-document") this.#state.taint.add();
    this.#state.parts.add(chunk);
    return this.#answer.write(chunk);
  }

  /**
   * Returns the calls that may run. All calls of a step are prepared before any of them runs, so that each
   * sees the variables as they were. If one names what another writes, only the first is: each is released in its turn.
   * Failures and approval requests are written at once.
   */
  async #plan(calls: readonly ToolCall[]): Promise<readonly Planned[]> {
    for (const call of calls.slice(limits.maxBatchItems)) this.#refuse(call, TOO_MANY);
    const all = calls.slice(0, limits.maxBatchItems);
    const hasTags = tagsOf(this.#context.agent) !== undefined && all.length > 1;
    const isOrdered = hasTags || all.some((call) => this.#usesOf(call, all).length > 0);
    if (!isOrdered) return this.#planAll(all);
    return this.#deferred === undefined ? [] : this.#release(this.#deferred);
  }

  /** The first call without an outcome, if it is deferred. Those of the provider may get theirs in a later answer. */
  get #deferred(): WrittenCall | undefined {
    const { begun, parts } = this.#state;
    const all = [...parts.calls().values()];
    const first = all.find(({ outcome, isProvided }) => outcome === undefined && !isProvided);
    const isDeferred = first?.state === "input-available" && !begun.has(first.toolCallId);
    return isDeferred ? first : undefined;
  }

  /** Returns the deferred call if it may run now. One that reads what has not been written is refused. */
  async #release(call: WrittenCall): Promise<readonly Planned[]> {
    const missing = await this.#missing(call);
    return missing === undefined ? this.#planAll([call]) : this.#refuse(call, missing);
  }

  /**
   * Saves the result. Undefined if it has to be prepared again, because the value that it extends has
   * changed.
   */
  #saveResult({ call, ready, save }: Finished, canRetry: boolean): UIMessageChunk | undefined {
    const { toolCallId } = call;
    if (!("commit" in save)) return errorOf(toolCallId, save);
    try {
      const { output } = save.commit();
      this.#context.account.addReferences(ready.references);
      return { type: "tool-output-available", toolCallId, output };
    } catch (error) {
      if (canRetry && codeOf(error) === "conflict") return undefined;
      return errorOf(toolCallId, failureOf(error));
    }
  }

  /** Says what the call reads that a call before it was to write, but has not, or that only a later one brings into being. */
  async #missing(call: WrittenCall): Promise<Failure | undefined> {
    const { store } = this.#context;
    const step = (one: WrittenCall) => one.place.split("/")[0];
    const inStep = [...this.#state.parts.calls().values()].filter(
      (one) => step(one) === step(call),
    );
    for (const use of this.#usesOf(call, inStep).filter(({ isNeeded }) => isNeeded)) {
      const { source, name, writers } = use;
      const before = writers.filter((one) => inStep.indexOf(one) < inStep.indexOf(call));
      const isAbsent = store.glance(name) === undefined;
      const failing = before.find(({ outcome }) => isAbsent || outcome !== "done");
      if (failing !== undefined) return skippedFor(source, failing);
      if (before.length === 0 && !(await exists(use, store))) return skippedFor(source, writers[0]);
    }
    return undefined;
  }

  /** Returns what a call reads that others may write. */
  #usesOf<Call extends ToolCall>(call: ToolCall, others: readonly Call[]): readonly Use<Call>[] {
    const { store } = this.#context;
    const { reads } = this.#flowOf(call);
    return [...new Map(reads.map((read) => [read.source, read])).values()].flatMap((read) => {
      const mayBe = (written: Written) => mayWrite(written, read, store);
      const writers = others.filter((one) => one !== call && this.#flowOf(one).writes.some(mayBe));
      return writers.length === 0 ? [] : { ...read, writers };
    });
  }

  #flowOf({ toolName, input }: ToolCall): CallFlow {
    const key: object = Object(input);
    const flow = this.#flows.get(key) ?? this.#required.tools.get(toolName)?.flow(input) ?? NO_FLOW;
    this.#flows.set(key, flow);
    return flow;
  }

  async #planAll(calls: readonly ToolCall[]): Promise<readonly Planned[]> {
    const prepared = await this.#prepareAll(calls);
    return prepared.flatMap((one) => this.#admit(one));
  }

  async #prepareAll<Call extends ToolCall & Partial<Pick<JournalCall, "idempotencyKey" | "pin">>>(
    calls: readonly Call[],
  ): Promise<readonly PreparedCall<Call>[]> {
    const { signal, observer } = this.#context;
    const { tools } = this.#required;
    const work = new LookupWork();
    const noTool = (name: string): Failed => {
      const message = noSuchTool(name, Object.keys(tools.all));
      return { kind: "failed", code: "unknown_tool", message };
    };
    const reads = calls.flatMap((call) => this.#flowOf(call).reads);
    await this.#remaker.make(reads.map(({ name }) => name));
    const prepared = await Promise.all(
      calls.map(async (call) => {
        const { toolName, toolCallId, input } = call;
        const key = call.idempotencyKey ?? this.#state.keyOf(toolCallId);
        const about = { toolCallId, idempotencyKey: key, ...(call.isChanged === true && ASKING) };
        const options = { messages: this.#messages, signal, observer, work, ...about };
        const ready = await tools.get(toolName)?.prepare(input, options);
        return {
          call: { ...call, idempotencyKey: key },
          ready: await this.#withDiffs(ready ?? noTool(toolName), call.pin),
        };
      }),
    );
    signal.throwIfAborted();
    return prepared;
  }

  /** Adds diffs to a request for approval, unless it is for an input that was approved. */
  async #withDiffs(ready: Prepared, pin: string | undefined): Promise<Prepared> {
    if (ready.kind === "failed" || ready.approval === undefined || ready.pin === pin) return ready;
    const diffs = await diffsOfEdited(ready.variables, this.#context.store);
    return diffs.length === 0 ? ready : { ...ready, approval: { ...ready.approval, diffs } };
  }

  /** Returns the call if it may run, else nothing: it is refused, or a person is asked. `approved`: a pin. */
  #admit({ call, ready }: PreparedCall, approved?: string): readonly Planned[] {
    if (ready.kind === "failed") return this.#refuse(call, ready);
    const { pin } = ready;
    const isApproved = pin === approved;
    if (ready.approval !== undefined && !isApproved) return this.#requestApproval(call, ready);
    const { toolName, toolCallId, input, idempotencyKey, isChanged } = call;
    const about = { toolName, toolCallId, input, pin, idempotencyKey };
    const admitted = { ...about, ...compact({ isChanged }) };
    return [{ call: isApproved ? { ...admitted, isApproved } : admitted, ready }];
  }

  /** What a person was asked about stays in the message, followed by what was approved. */
  #answerDecided({ approval, call }: DecidedCall, prepared: Prepared | undefined): void {
    const { approvalId, approved, reason, input } = approval;
    const { toolCallId, descriptor } = call;
    if (input !== undefined) {
      const request = prepared?.kind === "ready" ? prepared.approval : undefined;
      const changed = { input, resolved: request?.input ?? shownInput(input) };
      const approvalDescriptor = { ...(isObject(descriptor) && descriptor), changed };
      this.#unrecorded.push({
        type: "tool-approval-request",
        toolCallId,
        approvalId,
        approvalDescriptor,
      });
    }
    this.#unrecorded.push({
      type: "tool-approval-response",
      approvalId,
      approved,
      ...compact({ reason }),
    });
    if (!approved) this.#unrecorded.push({ type: "tool-output-denied", toolCallId });
  }

  #refuse({ toolCallId }: ToolCall, why: Failure): readonly Planned[] {
    this.#unrecorded.push(errorOf(toolCallId, why));
    return [];
  }

  #requestApproval(call: ToolCall, { approval, pin }: Ready): readonly Planned[] {
    const { toolCallId, input, isChanged } = call;
    const approvalId = this.#context.newId();
    this.#state.approvals.ask(approvalId, pin);
    const changed = isChanged === true ? { input, resolved: approval?.input } : undefined;
    const asked = { approvalId, approvalDescriptor: { ...approval, ...compact({ changed }) } };
    this.#unrecorded.push({ type: "tool-approval-request", toolCallId, ...asked });
    return [];
  }

  get #required(): Prompts {
    if (this.#opened === undefined) throw new ByrefError("internal", "The turn is not open.");
    return this.#opened;
  }
}

/** Maximum tries to save a result while other writes keep changing its variable. */
const MAX_TRIES = 20;

const STOPPED = "The turn ended before this call had a result.";

type ToolOutput = Extract<UIMessageChunk, { type: "tool-output-available" | "tool-output-error" }>;

function isProvided(chunk: UIMessageChunk): chunk is ToolOutput {
  const isOutput = chunk.type === "tool-output-available" || chunk.type === "tool-output-error";
  return isOutput && chunk.providerExecuted === true;
}

type Progress = () => Pick<JournalEntry, "step" | "chunks">;

/** What a person wrote runs as it was approved, or is asked about again. */
const ASKING = { needsApproval: async () => true };

/** The call with the input that a person wrote, if there is one. */
function approvedCall({ approval: { input }, call }: DecidedCall): DecidedCall["call"] {
  return input === undefined ? call : { ...call, input, isChanged: true };
}

interface RunningCall extends Planned {
  readonly settled: Promise<void>;
  run?: ToolRun;
}

function runningCall(planned: Planned): RunningCall {
  const settled = planned.ready.run().then((run) => {
    running.run = run;
  });
  const running: RunningCall = { ...planned, settled };
  return running;
}

/** A call that has run, with its result prepared for saving, or its failure. */
interface Finished extends Planned {
  readonly save: PreparedWrite<Saved> | Failure;
}

/**
 * The leading calls that have finished, with their results prepared. A call that changes a variable which an
 * earlier one of them changes is left for the next commit: it extends what that one wrote.
 */
async function preparedOf(running: readonly RunningCall[]): Promise<readonly Finished[]> {
  const finished: Finished[] = [];
  const earlier: Changes[] = [];
  for (const { call, ready, run } of running) {
    if (run === undefined) break;
    const changes = run.kind === "failed" ? [] : run.changes;
    if (!earlier.every((one) => areApart(one, changes))) break;
    earlier.push(changes);
    const save = run.kind === "failed" ? run : await run.stage().catch(failureOf);
    finished.push({ call, ready, save });
  }
  return finished;
}

type Changes = readonly string[] | undefined;

function areApart(one: Changes, other: Changes): boolean {
  if (one?.length === 0 || other?.length === 0) return true;
  return one !== undefined && other !== undefined && !one.some((name) => other.includes(name));
}

type Failure = Omit<Failed, "kind">;

function failureOf(error: unknown): Failure {
  return { code: codeOf(error), message: messageOf(error) };
}

const OUTCOME_UNKNOWN: Failure = {
  code: "outcome_unknown",
  message: "This call was cut off: it may or may not have run. Find out before you repeat it.",
};

const TOO_MANY: Failure = {
  code: "limit_exceeded",
  message: `maxBatchItems is at most ${limits.maxBatchItems}. Make the other calls in the next step.`,
};

function errorOf(toolCallId: string, { code, message }: Failure): UIMessageChunk {
  return { type: "tool-output-error", toolCallId, errorText: `${code}: ${message}` };
}

function skippedFor(source: string, writer: Pick<ToolCall, "toolName"> | undefined): Failure {
  const from = writer?.toolName ?? "another call";
  const message = `${clip(source, MAX_SOURCE_CHARS)} was to come from ${from}, which has not written it. Make it first.`;
  return { code: "skipped", message };
}

const MAX_SOURCE_CHARS = 80;

/** A reference to what other calls of the step may write. */
type Use<Call extends ToolCall = ToolCall> = CallFlow["reads"][number] & {
  readonly writers: readonly Call[];
};

/** True if a reference can be read now. A guarded variable has all paths: which ones must not show in the order. */
async function exists({ name, path }: Reference, store: VariableStore): Promise<boolean> {
  if (store.glance(name) === undefined) return false;
  if (path.length === 0 || isGuarded(name, store)) return true;
  const reading = await store.readPath(name, path).catch(() => undefined);
  return reading === undefined || reading.found;
}

/** True if the call may write what is read. Places overlap if one is part of the other. */
export function mayWrite(written: Written, read: Reference, store: VariableStore): boolean {
  if ("path" in written) return written.name === read.name && overlap(written.path, read.path);
  if ("base" in written && written.base === read.name) return true;
  const mayBeNew =
    "prefix" in written
      ? `${read.name}_`.startsWith(`${written.prefix}_`)
      : splitNumber(read.name)?.base === written.base;
  return mayBeNew && store.glance(read.name) === undefined;
}

function overlap(one: Path, other: Path): boolean {
  return one.every((segment, at) => {
    const against = other[at];
    if (against === undefined || !("key" in segment) || !("key" in against)) return true;
    return segment.key === against.key;
  });
}
