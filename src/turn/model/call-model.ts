import * as limits from "../../limits.ts";
import type {
  FinishReason,
  LanguageModel,
  LanguageModelUsage,
  ModelMessage,
  ToolSet,
  UIMessageChunk,
} from "ai";
import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import type { Awaitable } from "../../store/variable-store.ts";
import type { Observer } from "../../tool/observer.ts";
import { clip } from "../../value/characters.ts";
import type { Json } from "../../value/json.ts";
import { type ModelCall, prepareModelCall } from "./prepare-model-call.ts";
import { modelNameOf } from "./resolved-model.ts";
import { failureOf, pause, retryDelayMs } from "./model-failure.ts";
import { ModelTry, NotTaken } from "./model-try.ts";
import type { SavingsCounter } from "../spend/savings.ts";

/** What a model is called with, and what its turn does of it. */
export interface CallModelOptions {
  readonly model: LanguageModel;
  readonly instructions: string;
  /** As the model is shown them. */
  readonly tools: ToolSet;
  readonly savings: SavingsCounter;
  /** Told of each try. */
  readonly observer?: Observer | undefined;
  readonly signal: AbortSignal;
  /** The text without anything that is secret. */
  readonly redact: (text: string) => string;
  /** Receives each chunk as the model wrote it. Awaited before the next. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
  /**
   * Takes back what was written of this answer; called when another try has something to say in its place.
   * Without it a call that fails is not tried again.
   */
  readonly reset?: () => void | Promise<void>;
  /** Called before each try, which waits for it; what it throws ends the call. */
  readonly onTry?: () => Awaitable<void>;
  /** Called after each try, failed ones included, with what the provider reported; undefined if nothing. */
  readonly onUsage: (usage: LanguageModelUsage | undefined) => void;
  /** Waits; ends early, without an error, when the signal aborts. Default: a timer. */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<void>;
  /** Put behind the provider's ids of texts and reasoning, so that they are of this attempt alone. */
  readonly idSuffix?: string;
}

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

/**
 * One answer of the model: its parts go to `write`, its tool calls are returned. A model that fails is tried
 * again if it may work a moment later. Throws `model_failed` or `model_timeout` when it does not, the
 * reason of the signal, and what `write` and `reset` throw.
 */
export async function callModel(
  context: CallModelOptions,
  messages: readonly ModelMessage[],
): Promise<CallModelResult> {
  const { model, instructions, tools, signal, reset, sleep = pause, idSuffix = "" } = context;
  const named = modelNameOf(model);
  let call: ModelCall | undefined;
  const prepare = async (signal: AbortSignal) => {
    if (call !== undefined) return call;
    call = await prepareModelCall({ model, instructions, messages, tools, signal });
    context.savings.addPrompt(call.options.prompt);
    return call;
  };
  let hasWritten = false;
  for (let tries = 1; ; tries++) {
    const allowed = context.onTry?.();
    if (allowed !== undefined) await allowed;
    signal.throwIfAborted();
    const observed = context.observer?.begin({ kind: "model", name: named.model, ...named });
    const attempt = new ModelTry(context, {
      onAnswer: () => observed?.answers(),
      idSuffix: tries === 1 ? idSuffix : `${idSuffix}.${tries}`,
      ...(hasWritten && reset !== undefined ? { onFirst: reset } : {}),
    });
    try {
      const result = await attempt.run(prepare).finally(() => context.onUsage(attempt.usage));
      observed?.end({ finishReason: result.finishReason, ...tokensOf(attempt.usage) });
      return result;
    } catch (error) {
      const isOurs = error instanceof NotTaken;
      const failure = isOurs ? codeOf(error.cause) : failureOf(error);
      observed?.end({ error: failure, ...tokensOf(attempt.usage) });
      if (isOurs) throw error.cause;
      signal.throwIfAborted();
      const delayMs = reset === undefined ? undefined : retryDelayMs(error, tries);
      if (delayMs === undefined) throw asModelFailure(error, context);
      await sleep(delayMs, signal);
      signal.throwIfAborted();
      hasWritten ||= attempt.hasWritten;
    }
  }
}

function tokensOf(usage: LanguageModelUsage | undefined) {
  return { inputTokens: usage?.inputTokens, outputTokens: usage?.outputTokens };
}

/** What an endpoint says may be long, and may repeat the key that it was sent. */
function asModelFailure(error: unknown, context: CallModelOptions): ByrefError {
  if (error instanceof ByrefError) return error;
  const said = context.redact(messageOf(error)).replaceAll(/\s+/g, " ");
  return new ByrefError(
    "model_failed",
    `The model failed: ${clip(said, limits.maxModelErrorChars)}`,
  );
}
