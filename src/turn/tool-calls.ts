import type { ModelMessage, UIMessageChunk } from "ai";
import { codeOf, type ErrorCode, messageOf } from "../errors.ts";
import type { Prepared, Ready, ReferenceCount } from "../tool/wrapped-tool.ts";
import type { ToolCall } from "./step.ts";
import type { Toolbox } from "./toolbox.ts";

export interface ToolCallsOptions {
  readonly tools: Toolbox;
  readonly signal: AbortSignal;
  readonly newId: () => string;
  /** Told that a call waits for a person, and of the input that it waits with. */
  readonly onWaiting: (approvalId: string, pin: string) => void;
  /** Told of what a call's references stood for, when its result is saved. */
  readonly onReferences: (references: ReferenceCount) => void;
  /** Receives each chunk. Awaited before the next. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
}

/** A call that waits for a person. */
export interface WaitingCall extends ToolCall {
  readonly pin: string;
}

/** What a person has decided. */
export interface Approval {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** The tool calls of a turn's steps: prepared, run and saved, and what came of each as chunks. */
export class ToolCalls {
  readonly #options: ToolCallsOptions;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /**
   * All calls of a step are prepared before any runs, so that each sees the variables as they were; then
   * all run at the same time. Results are saved and shown in the order of the calls. True if a call waits
   * for a person. Throws what `signal` was aborted with.
   */
  async run(calls: readonly ToolCall[], messages: readonly ModelMessage[]): Promise<boolean> {
    const { tools, signal } = this.#options;
    const prepared = await Promise.all(
      calls.map(async ({ toolName, toolCallId, input }) => ({
        toolCallId,
        ready: await tools.get(toolName)?.prepare(input, { toolCallId, messages, signal }),
      })),
    );
    signal.throwIfAborted();
    const running = prepared.map((call) => ({ ...call, run: started(call.ready) }));
    for (const { toolCallId, ready, run } of running) {
      if (ready?.kind === "failed") await this.#fail(toolCallId, ready);
      else if (ready !== undefined) await this.#finish(toolCallId, ready, run);
    }
    return running.some(({ ready }) => ready?.kind === "ready" && ready.approval !== undefined);
  }

  /**
   * A call that a person has decided on: run if it is allowed and would still do what was approved. If its
   * input has changed since, a person is asked again: true.
   */
  async decide(
    { toolName, toolCallId, input, pin }: WaitingCall,
    { approvalId, approved, reason }: Approval,
    messages: readonly ModelMessage[],
  ): Promise<boolean> {
    const { tools, signal, write } = this.#options;
    const said = reason === undefined ? {} : { reason };
    await write({ type: "tool-approval-response", approvalId, approved, ...said });
    if (!approved) {
      await write({ type: "tool-output-denied", toolCallId });
      return false;
    }
    const ready = await tools.get(toolName)?.prepare(input, { toolCallId, messages, signal });
    signal.throwIfAborted();
    if (ready === undefined) {
      await this.#fail(toolCallId, { code: "unknown_tool", message: `${toolName} is gone.` });
      return false;
    }
    if (ready.kind === "failed") {
      await this.#fail(toolCallId, ready);
      return false;
    }
    const isSame = ready.approval === undefined || ready.pin === pin;
    await this.#finish(toolCallId, ready, isSame ? ready.run() : undefined);
    return !isSame;
  }

  async #finish(
    toolCallId: string,
    { approval, references, pin }: Ready,
    running: ReturnType<Ready["run"]> | undefined,
  ): Promise<void> {
    const { signal, newId, onWaiting, onReferences, write } = this.#options;
    if (running === undefined) {
      const approvalId = newId();
      onWaiting(approvalId, pin);
      const asked = { approvalId, approvalDescriptor: approval };
      return write({ type: "tool-approval-request", toolCallId, ...asked });
    }
    const run = await running;
    signal.throwIfAborted();
    if (run.kind === "failed") return this.#fail(toolCallId, run);
    try {
      const saving = run.save();
      const { output } = saving instanceof Promise ? await saving : saving;
      onReferences(references);
      await write({ type: "tool-output-available", toolCallId, output });
    } catch (error) {
      await this.#fail(toolCallId, { code: codeOf(error), message: messageOf(error) });
    }
  }

  async #fail(
    toolCallId: string,
    { code, message }: { readonly code: ErrorCode; readonly message: string },
  ): Promise<void> {
    const errorText = `${code}: ${message}`;
    await this.#options.write({ type: "tool-output-error", toolCallId, errorText });
  }
}

/** Undefined for a call that must not run, or not yet. */
function started(ready: Prepared | undefined): ReturnType<Ready["run"]> | undefined {
  return ready?.kind === "ready" && ready.approval === undefined ? ready.run() : undefined;
}
