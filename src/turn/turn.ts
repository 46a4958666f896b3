import type {
  FinishReason,
  LanguageModel,
  ModelMessage,
  ToolSet,
  UIMessage,
  UIMessageChunk,
} from "ai";
import {
  type ByrefError,
  codeOf,
  type ErrorCode,
  limitExceeded,
  publicMessageOf,
} from "../errors.ts";
import { limits } from "../limits.ts";
import type { Change, VariableStore } from "../store/variable-store.ts";
import { lookupInStore } from "../tool/store-lookup.ts";
import type { WrapOptions } from "../tool/prepared-call.ts";
import { Taint } from "../tool/taint.ts";
import type { Agent } from "./agent.ts";
import type { Cost } from "./cost.ts";
import { Answer } from "./answer.ts";
import { type History, type StoredMessage, toUIMessage } from "./history.ts";
import { MessageParts } from "./message-parts.ts";
import { instructionsFor, toModelMessages, withVariables } from "./prompt.ts";
import { type Savings, SavingsCounter } from "./savings.ts";
import { callModel, type StepContext } from "./step.ts";
import { type Facilities, Toolbox } from "./toolbox.ts";
import { type Approval, ToolCalls } from "./tool-calls.ts";
import { type Decided, decidedIn, waitingCalls } from "./waiting.ts";
import { addUsage, type Usage } from "./usage.ts";

export interface TurnOptions {
  readonly agent: Agent;
  readonly model: LanguageModel;
  readonly store: VariableStore;
  readonly history: History;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly newId: () => string;
  /** Takes out what nobody may be told, such as the model's key. Default: nothing is. */
  readonly redact?: (text: string) => string;
  /** Stops the turn: no further model call or tool. What was said so far is kept. */
  readonly signal: AbortSignal;
  /** What the turn has cost so far. */
  readonly cost: () => Cost;
  /** What the runtime's own tools work with. Default: those that need nothing more. */
  readonly facilities?: Facilities;
  /** Receives the chunks as the client sees them, in order. Must not throw. */
  readonly emit: (chunk: UIMessageChunk) => void;
}

/** What the last `message-metadata` of a turn carries. */
export interface TurnMetadata {
  readonly usage: Usage;
  readonly savings: Savings;
  readonly cost: Cost;
}

export interface TurnResult {
  readonly metadata: TurnMetadata;
  /** The answer as the person saw it. */
  readonly message: UIMessage;
  readonly finishReason: FinishReason;
  readonly error?: { readonly code: ErrorCode; readonly message: string };
}

/**
 * One user message, the model's steps and tool calls, one answer. The question is in the history before
 * the model is called; the answer is there before `finish` is sent. A failure is an error part, and the
 * turn's `error`; it rejects only if the storage fails.
 */
export async function runTurn(options: TurnOptions, question?: StoredMessage): Promise<TurnResult> {
  if (question !== undefined) options.history.add(question);
  const turn = new Turn(options);
  return turn.run();
}

/**
 * Goes on with the newest message where its calls have waited for a person; rejects with
 * `approval_not_found` if none of them does. If some still wait, the model is not called yet.
 */
export async function resumeTurn(
  options: TurnOptions,
  approvals: readonly Approval[],
): Promise<TurnResult> {
  const message = options.history.newest();
  const decided = decidedIn(message, approvals);
  const turn = new Turn(options, message);
  return turn.run(decided);
}

class Turn {
  readonly #options: TurnOptions;
  readonly #parts: MessageParts;
  readonly #answer: Answer;
  readonly #savings: SavingsCounter;
  readonly #taint: Taint;
  readonly #id: string;
  /** What this turn goes on with, if it has waited. */
  readonly #resumed: StoredMessage | undefined;
  readonly #waiting: Record<string, string>;
  #usage: Usage = {};

  constructor(options: TurnOptions, resumed?: StoredMessage) {
    const { agent, store, newId, emit } = options;
    this.#options = options;
    this.#resumed = resumed;
    this.#waiting = { ...resumed?.waiting };
    this.#parts = new MessageParts(resumed);
    this.#id = resumed?.id ?? newId();
    this.#savings = new SavingsCounter(store);
    const past = options.history.window();
    this.#taint = new Taint(past.some(({ tainted }) => tainted === true));
    const { syntaxes, inCode, inUrls } = agent.references ?? {};
    const hold = (name: string) => store.holds.hold(this.#id, name);
    this.#answer = new Answer(lookupInStore(store, { onUsed: hold }), {
      ...(syntaxes === undefined ? {} : { syntaxes }),
      ...(inCode === undefined ? {} : { inCode }),
      ...(inUrls === undefined ? {} : { inUrls }),
      emit,
      couldBegin: (prefix) => store.couldBegin(prefix),
      isKnown: (name) => store.glance(name) !== undefined || store.tombstone(name) !== undefined,
      onShown: (id, text) => this.#parts.show(id, text),
      onResolved: (source, text) =>
        this.#savings.addReferences({ authoredChars: source.length, resolvedChars: text.length }),
    });
  }

  async run(decided: readonly Decided[] = []): Promise<TurnResult> {
    const { store, emit } = this.#options;
    emit({ type: "start", messageId: this.#id });
    const stopObserving = store.observe((change) => this.#tellChange(change));
    let finishReason: FinishReason = "error";
    let error: TurnResult["error"];
    try {
      finishReason = await this.#steps(decided);
      await this.#answer.flush();
    } catch (thrown) {
      await this.#answer.flush().catch(() => undefined);
      if (this.#options.signal.aborted) finishReason = "other";
      else error = { code: codeOf(thrown), message: publicMessageOf(thrown) };
    } finally {
      stopObserving();
      store.holds.release(this.#id);
    }
    return this.#finish(finishReason, error);
  }

  /** Calls the model until it asks for no more tools. */
  async #steps(decided: readonly Decided[]): Promise<FinishReason> {
    const { agent, model, store, history, signal } = this.#options;
    const tools = await Toolbox.open(
      agent,
      { ...wrapOptionsFor(agent), store, owner: this.#id, taint: this.#taint },
      this.#options.facilities ?? {},
    );
    const others = history.window().filter(({ id }) => id !== this.#id);
    const past = await toModelMessages(others, tools.past);
    const context: Omit<StepContext, "tools"> = {
      model,
      instructions: instructionsFor(agent),
      savings: this.#savings,
      signal,
      redact: this.#options.redact ?? ((text) => text),
      write: (chunk) => this.#write(chunk),
    };
    const calls = new ToolCalls({
      tools,
      signal,
      newId: this.#options.newId,
      onWaiting: (approvalId, pin) => {
        this.#waiting[approvalId] = pin;
      },
      onReferences: (references) => this.#savings.addReferences(references),
      write: (chunk) => this.#write(chunk),
    });
    for (const { call, approval } of decided) {
      delete this.#waiting[approval.approvalId];
      await calls.decide(call, approval, past);
    }
    if (this.#hasWaiting()) return "tool-calls";
    for (let step = 1; ; step++) {
      signal.throwIfAborted();
      const messages = [...past, ...(await this.#ownMessages(tools.all))];
      await this.#write({ type: "start-step" });
      const prompt = withVariables(messages, {
        store,
        taint: this.#taint,
        hidesUntrusted: agent.untrusted === "hide",
      });
      const result = await callModel({ ...context, tools: tools.shown }, prompt);
      this.#usage = addUsage(this.#usage, result.usage);
      // An answer that was cut off or filtered may hold half a call: as in the SDK, nothing runs.
      const isWhole = result.finishReason === "stop" || result.finishReason === "tool-calls";
      const waits = isWhole && (await calls.run(result.calls, messages));
      await this.#write({ type: "finish-step" });
      const hasCalls = result.calls.length + result.invalidCalls > 0;
      if (!isWhole || !hasCalls || waits) return result.finishReason;
      if (step === limits.maxSteps) throw tooManySteps(step);
    }
  }

  #hasWaiting(): boolean {
    return waitingCalls(this.#stored(this.#parts.parts)).size > 0;
  }

  /** What this turn has said and done so far, for the model. */
  #ownMessages(shown: ToolSet): Promise<ModelMessage[]> {
    const { parts } = this.#parts;
    return parts.length === 0 ? Promise.resolve([]) : toModelMessages([this.#stored(parts)], shown);
  }

  /** Whoever changed it: this turn, or somebody over HTTP while it runs. */
  #tellChange(change: Change): void {
    if (change.kind === "deleted") return;
    const { info } = change;
    const { evictedAt, reason } = change.kind === "evicted" ? change.tombstone : {};
    const data = reason === undefined ? info : { ...info, evictedAt, reason };
    this.#options.emit({ type: "data-variable", data, transient: true });
  }

  /** As the model wrote it into the message; expanded on its way out. */
  #write(chunk: UIMessageChunk): void | Promise<void> {
    if (this.#isDoubted(chunk)) this.#taint.add();
    this.#parts.add(chunk);
    return this.#answer.write(chunk);
  }

  /** What a provider's own tool found, say on the web, the model reads whole. */
  #isDoubted(chunk: UIMessageChunk): boolean {
    if (chunk.type === "source-url" || chunk.type === "source-document") return true;
    if (chunk.type !== "tool-output-available" && chunk.type !== "tool-output-error") return false;
    if (chunk.providerExecuted !== true) return false;
    const name = this.#parts.toolOf(chunk.toolCallId);
    return this.#options.agent.policies?.[name]?.trusted !== true;
  }

  #finish(finishReason: FinishReason, error: TurnResult["error"]): TurnResult {
    const { history, emit, signal } = this.#options;
    const { rowsRead, rowsWritten, alarms } = this.#options.cost();
    const stored = this.#stored(this.#parts.ended());
    const saysSomething = stored.parts.some((part) => part.type !== "step-start");
    // The rows in which this is kept count in.
    const isNew = this.#resumed === undefined;
    const ownRows = saysSomething ? history.rowsFor(stored) + (isNew ? 0 : 1) : 0;
    const metadata: TurnMetadata = {
      usage: this.#usage,
      savings: this.#savings.savings,
      cost: { rowsRead, rowsWritten: rowsWritten + ownRows, alarms },
    };
    const failure = {
      ...(error === undefined ? {} : { error: error.code }),
      ...(signal.aborted ? { stopped: true } : {}),
    };
    const message = { ...stored, metadata: { ...metadata, ...failure } };
    if (!isNew) history.replaceNewest(message);
    else if (saysSomething) history.add(message);
    emit({ type: "message-metadata", messageMetadata: { ...metadata, ...failure } });
    if (signal.aborted) emit({ type: "abort" });
    else if (error !== undefined)
      emit({ type: "error", errorText: `${error.code}: ${error.message}` });
    else emit({ type: "finish", finishReason });
    return {
      metadata,
      message: toUIMessage(message, "display"),
      finishReason,
      ...(error === undefined ? {} : { error }),
    };
  }

  #stored(parts: StoredMessage["parts"]): StoredMessage {
    const { display } = this.#parts;
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const isSame = texts.every((text, index) => text === display[index]);
    return {
      id: this.#id,
      role: "assistant",
      parts,
      ...(isSame ? {} : { display }),
      ...(this.#taint.isTainted ? { tainted: true } : {}),
      ...(Object.keys(this.#waiting).length === 0
        ? {}
        : { waiting: { ...this.#waiting }, agent: this.#options.agent.name }),
      createdAt: new Date(this.#options.now()).toISOString(),
    };
  }
}

function wrapOptionsFor(agent: Agent): Omit<WrapOptions, "store"> {
  const { naming, readonlyTools, policies, policy, untrusted, outputPath } = agent;
  const { syntaxes, unknown } = agent.references ?? {};
  return {
    ...(policies === undefined ? {} : { policies }),
    ...(policy === undefined ? {} : { policy }),
    ...(untrusted === undefined ? {} : { untrusted }),
    ...(outputPath === undefined ? {} : { outputPath }),
    ...(naming === undefined ? {} : { naming }),
    ...(readonlyTools === undefined ? {} : { readonlyTools }),
    ...(syntaxes === undefined ? {} : { syntaxes }),
    ...(unknown === undefined ? {} : { unknown }),
  };
}

function tooManySteps(actual: number): ByrefError {
  const advice = "The model asked for still more tools; ask for less at once.";
  return limitExceeded("maxSteps", { maximum: limits.maxSteps, actual: actual + 1, advice });
}
