import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { compact } from "../../value/json.ts";
import { clip } from "../../value/characters.ts";
import type { Usage } from "../spend/spend.ts";
import type { TurnContext } from "../turn-context.ts";
import { failureOf, isRefused, pause, retryDelayMs } from "./model-failure.ts";
import { type CallModelResult, type ModelOutput, ModelTry, WriteFailed } from "./model-try.ts";
import {
  type ModelCall,
  modelNameOf,
  type ModelRequest,
  prepareModelCall,
} from "./prepare-model-call.ts";
import { type RefusedTurn, refusedTurn, withOutline } from "./refused-prompt.ts";

type CallModelContext = Pick<TurnContext, "account" | "observer" | "signal" | "redact" | "sleep">;

/** The result of a call, and the earlier turn that had to be sent in outline. */
export interface CallResult extends CallModelResult {
  readonly refused?: RefusedTurn & { readonly error: string };
}

/**
 * Calls the model once. Passes its parts to `write`, and returns its tool calls. Tries again after a failure
 * that may be temporary, and once with an earlier turn in outline if the provider refuses the prompt. Throws `model_failed` or `model_timeout` if the call fails, the reason of the
 * signal, and errors of `write` and `reset`.
 */
export async function callModel(
  context: CallModelContext,
  request: Omit<ModelRequest, "signal">,
  output: ModelOutput,
): Promise<CallResult> {
  const { account, signal, observer, sleep = pause } = context;
  const named = modelNameOf(request.model);
  let call: ModelCall | undefined;
  const prepare = async (signal: AbortSignal) => {
    if (call !== undefined) return call;
    call = await prepareModelCall({ ...request, signal });
    account.savings.addPrompt({ ...call.options, prompt: call.plain });
    return call;
  };
  let hasWritten = false;
  let refused: CallResult["refused"];
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
      return { ...result, ...compact({ refused }) };
    } catch (error) {
      const isOurs = error instanceof WriteFailed;
      const failure = isOurs ? codeOf(error.cause) : failureOf(error);
      observed?.end({ error: failure, ...tokensOf(attempt.usage) });
      if (isOurs) throw error.cause;
      signal.throwIfAborted();
      const turn = output.reset && refused === undefined && refusedIn(error, call, request);
      if (turn && call !== undefined) {
        refused = { ...turn, error: textOf(error, context) };
        const { options } = call;
        call = { ...call, options: { ...options, prompt: withOutline(options.prompt, turn.turn) } };
        continue;
      }
      const delayMs = output.reset && retryDelayMs(error, tries);
      if (delayMs === undefined) throw asModelFailure(error, context, refused);
      await sleep(delayMs, signal);
      signal.throwIfAborted();
      hasWritten ||= attempt.hasWritten;
    }
  }
}

function tokensOf(usage: Usage | undefined) {
  return { inputTokens: usage?.inputTokens, outputTokens: usage?.outputTokens };
}

/** The earlier turn that the provider refuses. Undefined if it was sent in outline already. */
function refusedIn(
  error: unknown,
  call: ModelCall | undefined,
  { outlined }: Pick<ModelRequest, "outlined">,
): RefusedTurn | undefined {
  if (call === undefined || outlined !== undefined || !isRefused(error)) return undefined;
  return refusedTurn(call.options.prompt, messageOf(error));
}

function asModelFailure(
  error: unknown,
  context: CallModelContext,
  refused: RefusedTurn | undefined,
): ByrefError {
  if (error instanceof ByrefError) return error;
  const also =
    refused === undefined ? "" : ` So it did with the turn "${refused.question}" in outline only.`;
  return new ByrefError("model_failed", `The model failed: ${textOf(error, context)}${also}`);
}

/** An endpoint's error text may be long, and may repeat the key that it received. */
function textOf(error: unknown, { redact = (text) => text }: CallModelContext): string {
  return clip(redact(messageOf(error)).replaceAll(/\s+/g, " "), limits.maxDescriptionChars);
}
