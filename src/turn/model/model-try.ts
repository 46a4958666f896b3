import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { FinishReason, LanguageModelUsage, UIMessageChunk } from "ai";
import { asLanguageModelUsage } from "ai/internal";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Json } from "../../value/json.ts";
import { fileChunk, plainChunk, ToolChunks } from "./model-chunks.ts";
import { StreamCutOff } from "./model-failure.ts";
import type { ModelCall, ModelRequest } from "./prepare-model-call.ts";

type Part = LanguageModelV4StreamPart;
type End = Extract<Part, { type: "finish" }>;

export interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
}

export interface CallModelResult {
  readonly finishReason: FinishReason;
  /** Calls that were asked of us and are well-formed. */
  readonly calls: readonly ToolCall[];
  /** Calls that were not, and have been answered with an error. */
  readonly invalidCalls: number;
}

/** Where a model's answer goes. */
export interface ModelOutput {
  /** Receives each chunk as the model wrote it. Awaited before the next. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
  /**
   * Takes back what was written of this answer, when another try has something to say in its place. Without
   * it a call that fails is not tried again.
   */
  readonly reset?: () => void;
  /** Put behind the provider's ids of texts and reasoning, so that they are of this attempt alone. */
  readonly idSuffix: string;
}

/** The turn could not take a chunk: nothing that another try would mend. */
export class WriteFailed extends Error {}

interface TryOptions extends Pick<ModelRequest, "tools" | "signal">, Omit<ModelOutput, "reset"> {
  /** Called before anything is written. */
  readonly onFirst: () => void;
}

/** One try of one model call. What it returns, or wrote before it threw, is of this try alone. */
export class ModelTry {
  readonly #options: TryOptions;
  readonly #tools: ToolChunks;
  readonly #calls: ToolCall[] = [];
  #invalidCalls = 0;
  #hasWritten = false;
  #hasFailed = false;
  #end: End | undefined;

  constructor(options: TryOptions) {
    this.#options = options;
    this.#tools = new ToolChunks(options.tools);
  }

  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** As far as the provider told it before it failed. */
  get usage(): LanguageModelUsage | undefined {
    return this.#end && asLanguageModelUsage(this.#end.usage);
  }

  /** Throws whatever the provider throws or says, `model_timeout`, or the stop signal's reason. */
  async run(prepare: (signal: AbortSignal) => Promise<ModelCall>): Promise<CallModelResult> {
    const watchdog = new Watchdog(this.#options.signal, limits.modelSilenceMs);
    const opening = open(prepare, watchdog.signal);
    // A model that does not heed the signal is not waited for: its answer is let go when it comes.
    const abandon = (reason?: unknown) => {
      opening.then((reader) => reader.cancel(reason)).catch(() => undefined);
    };
    watchdog.aborted.catch(abandon);
    try {
      const reader = await Promise.race([opening, watchdog.aborted]);
      await this.#read(reader, watchdog);
      watchdog.signal.throwIfAborted();
    } catch (error) {
      if (error instanceof WriteFailed) throw error;
      if (this.#options.signal.aborted || !this.#isComplete) {
        throw watchdog.signal.aborted ? watchdog.signal.reason : error;
      }
    } finally {
      watchdog.end();
      abandon();
    }
    return this.#result();
  }

  async #read(reader: ReadableStreamDefaultReader<Part>, watchdog: Watchdog): Promise<void> {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      watchdog.touch();
      const writing = this.#take(read.value, watchdog.signal);
      if (writing !== undefined) await writing;
    }
  }

  /** Most parts are written at once, without a promise. */
  #take(part: Part, signal: AbortSignal): void | Promise<void> {
    switch (part.type) {
      case "text-delta":
      case "text-start":
      case "text-end":
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
      case "source":
      case "custom":
        return this.#write(plainChunk(part, this.#options.idSuffix));
      case "tool-input-start":
        return this.#write(this.#tools.start(part));
      case "tool-input-delta":
        return this.#write(this.#tools.delta(part));
      case "tool-call":
        return this.#takeCall(part);
      case "tool-result":
        return this.#write(this.#tools.result(part));
      case "tool-approval-request":
        return this.#write(this.#tools.approval(part));
      case "file":
      case "reasoning-file":
        return fileChunk(part, signal).then((chunk) => this.#write(chunk));
      case "finish":
        this.#end = part;
        return undefined;
      case "error":
        this.#hasFailed = true;
        throw part.error;
      default:
        return undefined;
    }
  }

  async #takeCall(part: Extract<Part, { type: "tool-call" }>): Promise<void> {
    const { chunk, input, isInvalid } = await this.#tools.call(part);
    const { toolCallId, toolName } = part;
    if (part.providerExecuted === true) return this.#write(chunk);
    if (isTooDeep(input)) {
      this.#invalidCalls++;
      return this.#write(tooDeep(part));
    }
    if (isInvalid) this.#invalidCalls++;
    // The SDK made the input by parsing JSON.
    else this.#calls.push({ toolCallId, toolName, input: input as Json });
    return this.#write(chunk);
  }

  #write(chunk: UIMessageChunk): void | Promise<void> {
    const { onFirst, write } = this.#options;
    const isFirst = !this.#hasWritten;
    this.#hasWritten = true;
    try {
      if (isFirst) onFirst();
      return write(chunk)?.catch(writeFailed);
    } catch (error) {
      return writeFailed(error);
    }
  }

  /** Whatever happens behind an answer's end, the answer is there. */
  get #isComplete(): boolean {
    return !this.#hasFailed && this.#end !== undefined && isModelFinish(this.#end.finishReason);
  }

  #result(): CallModelResult {
    if (this.#end === undefined || !this.#isComplete) throw new StreamCutOff();
    return {
      finishReason: this.#end.finishReason.unified,
      calls: this.#calls,
      invalidCalls: this.#invalidCalls,
    };
  }
}

async function open(
  prepare: (signal: AbortSignal) => Promise<ModelCall>,
  signal: AbortSignal,
): Promise<ReadableStreamDefaultReader<Part>> {
  const { model, options } = await prepare(signal);
  const { stream } = await model.doStream({ ...options, abortSignal: signal });
  return stream.getReader();
}

/**
 * Only an end that the model itself said is one: providers make up a reason where a stream was cut, and
 * do not agree on which.
 */
function isModelFinish({ unified, raw }: End["finishReason"]): boolean {
  if (unified === "interrupted" || unified === "error") return false;
  return unified !== "other" || raw !== undefined;
}

function writeFailed(cause: unknown): never {
  throw new WriteFailed("A chunk was not taken.", { cause });
}

/** Deeper than any tool's input may be: writing it down would end the turn. */
function isTooDeep(input: unknown): boolean {
  let level: readonly unknown[] = [input];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.maxDepth) return true;
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

function tooDeep({
  toolCallId,
  toolName,
}: Pick<ToolCall, "toolCallId" | "toolName">): UIMessageChunk {
  const errorText = `invalid_tool_input: The input is deeper than ${limits.maxDepth} levels.`;
  return { type: "tool-input-error", toolCallId, toolName, input: {}, errorText };
}

/** How finely silence is measured. */
const TICKS = 4;

/** Aborts a model that says nothing for too long. Few timers, however many parts arrive. */
class Watchdog {
  readonly #controller = new AbortController();
  readonly #silenceMs: number;
  readonly signal: AbortSignal;
  /** Rejects with the reason when the signal aborts; never resolves. */
  readonly aborted: Promise<never>;
  readonly #onAbort: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Whole ticks without a part. */
  #quietTicks = 0;

  constructor(outer: AbortSignal, silenceMs: number) {
    this.#silenceMs = silenceMs;
    this.signal = AbortSignal.any([outer, this.#controller.signal]);
    const { promise, reject } = Promise.withResolvers<never>();
    this.#onAbort = () => reject(this.signal.reason);
    if (this.signal.aborted) this.#onAbort();
    else this.signal.addEventListener("abort", this.#onAbort, { once: true });
    // Nobody may be waiting for it when it rejects.
    promise.catch(() => undefined);
    this.aborted = promise;
    this.#timer = setInterval(() => this.#tick(), silenceMs / TICKS);
  }

  /** Something was said. */
  touch(): void {
    // The tick in which it was said is not a quiet one.
    this.#quietTicks = -1;
  }

  end(): void {
    clearInterval(this.#timer);
    // A composed signal that somebody listens to is kept alive, and all that the listener holds with it.
    this.signal.removeEventListener("abort", this.#onAbort);
  }

  /** Fires after `silenceMs`, or a tick more behind a part, so that a part costs no timer of its own. */
  #tick(): void {
    this.#quietTicks++;
    if (this.#quietTicks < TICKS) return;
    const message = `The model said nothing for ${this.#silenceMs} ms.`;
    this.#controller.abort(new ByrefError("model_timeout", message));
  }
}
