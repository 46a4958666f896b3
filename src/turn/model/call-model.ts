import type { CallModelOptions, CallModelResult } from "./model-call-options.ts";
import * as limits from "../../limits.ts";
import type { LanguageModelUsage, ModelMessage } from "ai";
import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import { clip } from "../../value/characters.ts";
import { type ModelCall, prepareModelCall } from "./prepare-model-call.ts";
import { modelNameOf } from "./resolved-model.ts";
import { failureOf, pause, retryDelayMs } from "./model-failure.ts";
import { ModelTry, NotTaken } from "./model-try.ts";

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
