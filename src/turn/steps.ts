import type { FinishReason, ModelMessage, UIMessageChunk } from "ai";
import { ByrefError, limitExceeded } from "../errors.ts";
import * as limits from "../limits.ts";
import { Answer, type AnswerOptions } from "./answer.ts";
import type { JournalCall, JournalEntry } from "./log/journal.ts";
import { toTurnMessages } from "./history/prompt.ts";
import { callModel, type CallResult, REDUCED } from "./model/model-call.ts";
import { openPrompts, type PromptOptions, type Prompts } from "./prompts.ts";
import { type Remaker, remakerFor } from "./remake.ts";
import {
  type Finished,
  OUTCOME_UNKNOWN,
  type Planned,
  preparedOf,
  runningCall,
  ToolCalls,
} from "./tool-calls.ts";
import type { ToolboxOptions } from "./toolbox.ts";
import type { RecoveredLog } from "./log/recovery.ts";
import type { TurnContext } from "./turn-context.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { DecidedCall } from "./waiting-calls.ts";

interface StepsOptions
  extends AnswerOptions, Pick<PromptOptions, "window" | "outline" | "variables"> {
  /** Distinguishes the text ids of an attempt from those of the previous one. Empty for the first attempt. */
  readonly idSuffix: string;
  readonly toolbox: ToolboxOptions;
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
  #opened: { readonly prompts: Prompts; readonly calls: ToolCalls } | undefined;
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
    this.#remaker = remakerFor(context, () => this.#opened?.prompts.tools);
    this.#answer = new Answer(context, { ...options, remaker: this.#remaker });
    // The text before the wait may have left a URL open.
    this.#answer.restart(state.parts.display);
  }

  /** Prepares the tools and the past messages, once. */
  async open(): Promise<void> {
    if (this.#opened !== undefined) return;
    const { id: owner, taint, prompt: own } = this.#state;
    const prompts = await openPrompts(this.#context, { ...this.#options, taint, owner, own });
    const write = (chunk: UIMessageChunk) => void this.#unrecorded.push(chunk);
    const { tools } = prompts;
    const remaker = this.#remaker;
    const calls = new ToolCalls(this.#context, { tools, state: this.#state, write, remaker });
    this.#opened = { prompts, calls };
  }

  /** Calls the model until it requests no more tools. */
  async run(): Promise<FinishReason> {
    for (;;) {
      this.#context.signal.throwIfAborted();
      const messages = await this.#messages();
      const result = await this.#callModel(messages);
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
      const planned = await this.#required.calls.plan([...calls], messages);
      const step = () => {
        const chunks = this.#late.splice(0);
        return { step: this.#state.parts.step(), ...(chunks.length > 0 && { chunks }) };
      };
      const reason = await this.#runCalls(planned, messages, { progress: step });
      if (reason !== undefined) return reason;
    }
  }

  async pinned(decided: readonly DecidedCall[]): Promise<readonly DecidedCall[]> {
    await this.open();
    return this.#required.calls.pinned(decided, await this.#messages());
  }

  /** Applies a person's decisions on waiting calls. Returns a reason if the turn ends there. */
  async decide(decided: readonly DecidedCall[]): Promise<FinishReason | undefined> {
    const messages = await this.#messages();
    const planned = await this.#required.calls.decide(decided, messages);
    return this.#runCalls(planned, messages);
  }

  /** Handles the calls that a crash cut off. Returns a reason if the turn ends there. */
  async recoverCalls(begun: readonly JournalCall[]): Promise<FinishReason | undefined> {
    const { calls } = this.#required;
    if (begun.length === 0 && !calls.canRelease) return this.#afterCalls();
    const messages = await this.#messages();
    const planned = await calls.recover(begun, messages);
    this.#state.begun.clear();
    return this.#runCalls(planned, messages, { begun });
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
        begun !== undefined && this.#opened?.prompts.tools.effectsOf(begun.toolName) !== "none";
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

  async #callModel(messages: readonly ModelMessage[]): Promise<CallResult> {
    const { prompts } = this.#required;
    const request = { ...prompts.next(messages), isReduced: this.#refused !== undefined };
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
   * written before they begin; by default the chunks about calls that are not in the journal yet. `begun`: calls that are
   * in it already. Throws the reason of the signal when it aborts.
   */
  async #runCalls(
    planned: readonly Planned[],
    messages: readonly ModelMessage[],
    { progress, begun = [] }: { progress?: Progress; begun?: readonly JournalCall[] } = {},
  ): Promise<FinishReason | undefined> {
    const { calls } = this.#required;
    const known = new Set(begun.map(({ toolCallId }) => toolCallId));
    const fresh = planned.filter(({ call }) => !known.has(call.toolCallId));
    if (begun.length === 0 || this.#unrecorded.length > 0)
      await this.#begin(fresh, planned.length === 0, progress);
    for (const { call } of planned) this.#state.begun.set(call.toolCallId, call);
    const running = planned.map(runningCall);
    for (let next = 0, tries = 0; ;) {
      while (calls.canRelease) {
        const more = await calls.release(messages);
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
    await account.spend.add("toolCalls", planned.length);
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
        const { calls } = this.#required;
        // An abort by the stop signal is not the call's outcome.
        if (signal.aborted) break;
        const chunk = calls.save(one, canRetry || chunks.length > 0);
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
    if (this.#required.calls.canRelease) return;
    if (this.#hasStep) void this.#write({ type: "finish-step" });
    const { parts, hasWaiting } = this.#state;
    if (!hasWaiting && parts.steps < limits.maxSteps) this.startStep();
  }

  /** The past messages, followed by those of the current turn. */
  async #messages(): Promise<readonly ModelMessage[]> {
    const { tools, past } = this.#required.prompts;
    const { parts } = this.#state.parts;
    if (parts.every(({ type }) => type === "step-start")) return past;
    return [...past, ...(await toTurnMessages(this.#state.message(parts, 0), tools.all))];
  }

  /** True if the provider has paused its own tools, or returns their results in a later step. */
  get #isPending(): boolean {
    const { all } = this.#required.prompts.tools;
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

  get #required() {
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
