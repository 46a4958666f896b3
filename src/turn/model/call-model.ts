import type { LanguageModelUsage } from "ai";
import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";
import type { TurnContext } from "../turn-context.ts";
import { failureOf, pause, retryDelayMs } from "./model-failure.ts";
import { type CallModelResult, type ModelOutput, ModelTry, WriteFailed } from "./model-try.ts";
import {
  type ModelCall,
  modelNameOf,
  type ModelRequest,
  prepareModelCall,
} from "./prepare-model-call.ts";

type CallModelContext = Pick<TurnContext, "account" | "observer" | "signal" | "redact" | "sleep">;

/**
 * Calls the model once. Passes its parts to `write`, and returns its tool calls. Tries again after a failure
 * that may be temporary. Throws `model_failed` or `model_timeout` if the call fails, the reason of the
 * signal, and errors of `write` and `reset`.
 */
export async function callModel(
  context: CallModelContext,
  request: Omit<ModelRequest, "signal">,
  output: ModelOutput,
): Promise<CallModelResult> {
  const { account, signal, observer, sleep = pause } = context;
  const named = modelNameOf(request.model);
  let call: ModelCall | undefined;
  const prepare = async (signal: AbortSignal) => {
    if (call !== undefined) return call;
    call = await prepareModelCall({ ...request, signal });
    account.savings.addPrompt(call.options);
    return call;
  };
  let hasWritten = false;
  for (let tries = 1; ; tries++) {
    await account.spend.add("modelCalls", 1);
    signal.throwIfAborted();
    const observed = observer?.begin({ kind: "model", name: named.model, ...named });
    const mustReset = hasWritten;
    const attempt = new ModelTry({
      tools: request.callable ?? request.tools,
      signal,
      write: output.write,
      onFirst: () => {
        observed?.firstOutput();
        if (mustReset) output.reset?.();
      },
      idSuffix: tries === 1 ? output.idSuffix : `${output.idSuffix}.${tries}`,
    });
    try {
      const result = await attempt.run(prepare).finally(() => account.addCall(attempt.usage));
      observed?.end({ finishReason: result.finishReason, ...tokensOf(attempt.usage) });
      return result;
    } catch (error) {
      const isOurs = error instanceof WriteFailed;
      const failure = isOurs ? codeOf(error.cause) : failureOf(error);
      observed?.end({ error: failure, ...tokensOf(attempt.usage) });
      if (isOurs) throw error.cause;
      signal.throwIfAborted();
      const delayMs = output.reset && retryDelayMs(error, tries);
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

/** An endpoint's error text may be long, and may repeat the key that it received. */
function asModelFailure(error: unknown, { redact = (text) => text }: CallModelContext): ByrefError {
  if (error instanceof ByrefError) return error;
  const text = redact(messageOf(error)).replaceAll(/\s+/g, " ");
  return new ByrefError(
    "model_failed",
    `The model failed: ${clip(text, limits.maxModelErrorChars)}`,
  );
}
