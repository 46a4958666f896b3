import type { ModelMessage, UIMessageChunk } from "ai";
import { codeOf, type ErrorCode, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { LookupWork } from "../reference/lookup.ts";
import type { PreparedWrite } from "../store/variable-store.ts";
import type { Prepared, Ready, Saved, ToolRun } from "../tool/wrapped-tool.ts";
import type { JournalCall } from "./log/journal.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { ToolCall } from "./model/model-try.ts";
import type { Toolbox } from "./toolbox.ts";
import type { TurnContext } from "./turn-context.ts";
import type { ApprovalResponse, DecidedCall } from "./waiting-calls.ts";
import type { Failed } from "../tool/policy.ts";

interface ToolCallsOptions {
  readonly tools: Toolbox;
  readonly state: TurnState;
  /** Receives each chunk; what it changes is done at once. */
  readonly write: (chunk: UIMessageChunk) => void;
}

/** A call that may run. */
export interface Planned {
  readonly call: JournalCall;
  readonly ready: Ready;
}

/**
 * The tool calls of a turn's steps: planned, then run and saved. Between the two whoever runs the turn
 * writes down what is about to happen.
 */
export class ToolCalls {
  readonly #context: TurnContext;
  readonly #options: ToolCallsOptions;

  constructor(context: TurnContext, options: ToolCallsOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * The calls that may run. All of a step are prepared before any runs, so that each sees the variables as
   * they were. What fails here, and what has to wait for a person, is said at once.
   */
  async plan(
    calls: readonly ToolCall[],
    messages: readonly ModelMessage[],
  ): Promise<readonly Planned[]> {
    const prepared = await this.#prepareAll(calls, messages);
    return prepared.flatMap(({ call, ready }) => {
      if (ready.kind === "failed") return this.#refuse(call, ready);
      if (ready.approval !== undefined) return this.#requestApproval(call, ready);
      return this.#planned(call, ready);
    });
  }

  /**
   * The same for calls that a person has decided on. One whose input has changed since would do something
   * else than what was approved: a person is asked again.
   */
  async decide(
    decided: readonly DecidedCall[],
    messages: readonly ModelMessage[],
  ): Promise<readonly Planned[]> {
    const allowed = decided.filter(({ approval }) => approval.approved);
    const prepared = await this.#prepareAll(
      allowed.map(({ call }) => call),
      messages,
    );
    for (const { approval, call } of decided) this.#answer(approval, call);
    return prepared.flatMap(({ call, ready }) => {
      if (ready.kind === "failed") return this.#refuse(call, ready);
      if (ready.approval !== undefined && ready.pin !== call.pin)
        return this.#requestApproval(call, ready);
      return this.#planned(call, ready, ready.pin === call.pin);
    });
  }

  /**
   * The same for calls that had begun when a crash cut them off. Only a tool of which it is known that this
   * does no harm is called again, with the same key.
   */
  async recover(
    begun: readonly JournalCall[],
    messages: readonly ModelMessage[],
  ): Promise<readonly Planned[]> {
    const { tools } = this.#options;
    const repeatable = begun.filter(({ toolName }) => tools.effectsOf(toolName) !== "once");
    for (const call of begun) if (!repeatable.includes(call)) this.#refuse(call, OUTCOME_UNKNOWN);
    const prepared = await this.#prepareAll(repeatable, messages);
    return prepared.flatMap(({ call, ready }) => {
      if (ready.kind === "failed") return this.#refuse(call, ready);
      const isSame = ready.pin === call.pin;
      const wasAllowed = isSame && call.isApproved === true;
      if (ready.approval !== undefined && !wasAllowed) return this.#requestApproval(call, ready);
      // The key stands for an input: with another one nobody knows what it did.
      const needsSame = tools.effectsOf(call.toolName) === "idempotent";
      if (needsSame && !isSame) return this.#refuse(call, OUTCOME_UNKNOWN);
      return { call, ready };
    });
  }

  /**
   * Runs all of them at the same time. Results are saved and shown in the order of the calls; those that
   * are there together are one commit. Throws what `signal` was aborted with.
   */
  async run(planned: readonly Planned[], commit: CommitResults): Promise<void> {
    const { signal } = this.#context;
    const running = planned.map(({ call, ready }) => new RunningCall(call, ready));
    for (let next = 0, tries = 0; next < running.length; tries++) {
      await running[next]?.settled;
      signal.throwIfAborted();
      const prepared = await preparedOf(running.slice(next));
      commit(() => {
        const chunks: UIMessageChunk[] = [];
        for (const result of prepared) {
          // That a stop cut it off is not the call's outcome.
          const chunk = signal.aborted ? undefined : this.#save(result, tries < MAX_TRIES);
          if (chunk === undefined) break;
          chunks.push(chunk);
          next++;
          tries = 0;
        }
        return { chunks, isLast: next === running.length };
      });
      for (const { save } of prepared) if ("discard" in save) save.discard();
    }
  }

  /** Saves the result; undefined if it has to be prepared again, because what it extends has changed. */
  #save({ call, ready, save }: Finished, canRetry: boolean): UIMessageChunk | undefined {
    const { toolCallId } = call;
    if (!("commit" in save)) return errorOf(toolCallId, save);
    try {
      const { output } = save.commit();
      this.#context.account.savings.addReferences(ready.references);
      return { type: "tool-output-available", toolCallId, output };
    } catch (error) {
      if (canRetry && codeOf(error) === "conflict") return undefined;
      return errorOf(toolCallId, failureOf(error));
    }
  }

  async #prepareAll<Call extends ToolCall & { readonly idempotencyKey?: string }>(
    calls: readonly Call[],
    messages: readonly ModelMessage[],
  ): Promise<readonly { call: Call & { idempotencyKey: string }; ready: Prepared }[]> {
    const { signal, observer } = this.#context;
    const { tools, state } = this.#options;
    const prepared = await Promise.all(
      calls.map(async (call, index) => {
        const { toolName, toolCallId, input } = call;
        const key = call.idempotencyKey ?? state.keyOf(toolCallId);
        // Shares, not one pool: what one call reads of a sealed value must not show in another.
        const work = new LookupWork(calls.length);
        const options = { toolCallId, messages, signal, idempotencyKey: key, observer, work };
        const isTooMany = index >= limits.maxStepCalls;
        const ready = isTooMany ? TOO_MANY : await tools.get(toolName)?.prepare(input, options);
        return { call: { ...call, idempotencyKey: key }, ready: ready ?? unknownTool(toolName) };
      }),
    );
    signal.throwIfAborted();
    return prepared;
  }

  #planned(
    { toolName, toolCallId, input, idempotencyKey }: ToolCall & { idempotencyKey: string },
    ready: Ready,
    isApproved = false,
  ): readonly Planned[] {
    const { pin } = ready;
    const call = { toolName, toolCallId, input, pin, idempotencyKey };
    return [{ call: isApproved ? { ...call, isApproved } : call, ready }];
  }

  #answer({ approvalId, approved, reason }: ApprovalResponse, { toolCallId }: ToolCall): void {
    const { write } = this.#options;
    const said = reason === undefined ? {} : { reason };
    write({ type: "tool-approval-response", approvalId, approved, ...said });
    if (!approved) write({ type: "tool-output-denied", toolCallId });
  }

  #refuse({ toolCallId }: ToolCall, why: Failure): readonly Planned[] {
    this.#options.write(errorOf(toolCallId, why));
    return [];
  }

  #requestApproval({ toolCallId }: ToolCall, { approval, pin }: Ready): readonly Planned[] {
    const { state, write } = this.#options;
    const approvalId = this.#context.newId();
    state.waiting[approvalId] = pin;
    const asked = { approvalId, approvalDescriptor: approval };
    write({ type: "tool-approval-request", toolCallId, ...asked });
    return [];
  }
}

/** Does what it is given at once, and writes down what came of it, as one commit. */
type CommitResults = (
  save: () => { readonly chunks: readonly UIMessageChunk[]; readonly isLast: boolean },
) => void;

class RunningCall {
  readonly call: JournalCall;
  readonly ready: Ready;
  readonly settled: Promise<void>;
  run: ToolRun | undefined;

  constructor(call: JournalCall, ready: Ready) {
    this.call = call;
    this.ready = ready;
    this.settled = ready.run().then((run) => {
      this.run = run;
    });
  }
}

/** A call that has run, with its result ready to be saved, or why there is none. */
interface Finished extends Planned {
  readonly save: PreparedWrite<Saved> | Failure;
}

/** The first of the calls, as far as they have run. */
async function preparedOf(running: readonly RunningCall[]): Promise<readonly Finished[]> {
  const finished: Finished[] = [];
  for (const { call, ready, run } of running) {
    if (run === undefined) break;
    const save = run.kind === "failed" ? run : await run.prepare().catch(failureOf);
    finished.push({ call, ready, save });
  }
  return finished;
}

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

function failureOf(error: unknown): Failure {
  return { code: codeOf(error), message: messageOf(error) };
}

/** Tries to save a result that others come before each time. */
const MAX_TRIES = 20;

export const OUTCOME_UNKNOWN: Failure = {
  code: "outcome_unknown",
  message:
    "This call was cut off: it may have done its work or not. Find out before you repeat it.",
};

const TOO_MANY: Failed = {
  kind: "failed",
  code: "limit_exceeded",
  message: `maxStepCalls is at most ${limits.maxStepCalls}. Make the other calls in the next step.`,
};

function unknownTool(toolName: string): Failed {
  return { kind: "failed", code: "unknown_tool", message: `${toolName} is gone.` };
}

function errorOf(toolCallId: string, { code, message }: Failure): UIMessageChunk {
  return { type: "tool-output-error", toolCallId, errorText: `${code}: ${message}` };
}
