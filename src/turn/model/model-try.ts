import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { FinishReason, UIMessageChunk } from "ai";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { compact, type Json } from "../../value/json.ts";
import type { Usage } from "../spend/spend.ts";
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
  /** Well-formed calls of our own tools. */
  readonly calls: readonly ToolCall[];
  /** Number of malformed calls. Each has been answered with an error. */
  readonly invalidCalls: number;
}

/** The destination of a model's answer. */
export interface ModelOutput {
  /** Receives each chunk as the model wrote it. Awaited before the next chunk. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
  /**
   * Removes the written part of this answer before another try writes its own. Without it, a failed call is
   * not tried again.
   */
  readonly reset?: () => void;
  /** Appended to the provider's ids of texts and reasoning, so that they are unique to this attempt. */
  readonly idSuffix: string;
}

/** Writing a chunk failed. Another try would not help. */
export class WriteFailed extends Error {}

interface TryOptions extends Pick<ModelRequest, "tools" | "signal">, Omit<ModelOutput, "reset"> {
  /** Called before the first write. */
  readonly onFirst: () => void;
}

/** One try of one model call. Its results and its writes belong to this try alone. */
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

  /** The usage that the provider reported, also if the try failed later. */
  get usage(): Usage | undefined {
    if (this.#end === undefined) return undefined;
    const { inputTokens: input, outputTokens: output } = this.#end.usage;
    const hasTotal = input.total !== undefined || output.total !== undefined;
    return compact({
      inputTokens: input.total,
      cachedInputTokens: input.cacheRead,
      outputTokens: output.total,
      totalTokens: hasTotal ? (input.total ?? 0) + (output.total ?? 0) : undefined,
    });
  }

  /** Runs the try. Throws the provider's errors, `model_timeout`, or the stop signal's reason. */
  async run(prepare: (signal: AbortSignal) => Promise<ModelCall>): Promise<CallModelResult> {
    const watchdog = new Watchdog(this.#options.signal, limits.modelSilenceMs);
    const opening = open(prepare, watchdog.signal);
    // A model that ignores the signal is not awaited. Its late answer is cancelled when it arrives.
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

  /** Writes most parts at once, without a promise. */
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

  /** True if the answer has its end. An error after that end does not matter. */
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
 * True if the model itself reported the end. Providers make up a reason when a stream was cut, and do not
 * agree on which.
 */
function isModelFinish({ unified, raw }: End["finishReason"]): boolean {
  if (unified === "interrupted" || unified === "error") return false;
  return unified !== "other" || raw !== undefined;
}

function writeFailed(cause: unknown): never {
  throw new WriteFailed("A chunk was not taken.", { cause });
}

/** True if the input is deeper than any tool accepts. Storing it would end the turn. */
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

/** Ticks per silence period. */
const TICKS = 4;

/** Aborts a model that sends nothing for too long. Uses few timers, however many parts arrive. */
class Watchdog {
  readonly #controller = new AbortController();
  readonly #silenceMs: number;
  readonly signal: AbortSignal;
  /** Rejects with the reason when the signal aborts. Never resolves. */
  readonly aborted: Promise<never>;
  readonly #onAbort: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Number of whole ticks without a part. */
  #quietTicks = 0;

  constructor(outer: AbortSignal, silenceMs: number) {
    this.#silenceMs = silenceMs;
    this.signal = AbortSignal.any([outer, this.#controller.signal]);
    const { promise, reject } = Promise.withResolvers<never>();
    this.#onAbort = () => reject(this.signal.reason);
    if (this.signal.aborted) this.#onAbort();
    else this.signal.addEventListener("abort", this.#onAbort, { once: true });
    // The rejection may have no other handler.
    promise.catch(() => undefined);
    this.aborted = promise;
    this.#timer = setInterval(() => this.#tick(), silenceMs / TICKS);
  }

  /** Restarts the silence period after a part. */
  touch(): void {
    // The tick in which the part arrived does not count as quiet.
    this.#quietTicks = -1;
  }

  end(): void {
    clearInterval(this.#timer);
    // A composed signal with a listener stays alive, and so does everything that the listener references.
    this.signal.removeEventListener("abort", this.#onAbort);
  }

  /**
   * Aborts after `silenceMs` without a part, or up to a tick later, so that a part needs no timer of its own.
   */
  #tick(): void {
    this.#quietTicks++;
    if (this.#quietTicks < TICKS) return;
    const message = `The model said nothing for ${this.#silenceMs} ms.`;
    this.#controller.abort(new ByrefError("model_timeout", message));
  }
}
