import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { LanguageModel, ModelMessage, ToolSet, UIMessageChunk } from "ai";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { Account, type Savings } from "../../src/turn/spend/account.ts";
import { callModel, type CallResult, type ModelOutput } from "../../src/turn/model/model-call.ts";
import { NOTHING_SPENT, Spend, type Usage } from "../../src/turn/spend/spend.ts";
import { scriptedModel, type Step } from "../../packages/testing/src/testing.ts";

interface CallOptions extends Partial<Pick<ModelOutput, "write" | "idSuffix">> {
  readonly signal?: AbortSignal;
  /** One step per attempt. */
  readonly steps?: readonly Step[];
  /** Replaces the scripted model. */
  readonly model?: LanguageModel;
  readonly tools?: ToolSet;
  readonly messages?: readonly ModelMessage[];
  /** Called and awaited during each wait. */
  readonly onSleep?: (delayMs: number) => void | Promise<void>;
  /** False makes the call fail instead of retrying. Default: the call can retry. */
  readonly canReset?: false;
}

interface Call {
  readonly result?: CallResult & Pick<Call, "usage">;
  /** The sum of all attempts, as far as the provider reported it. */
  readonly usage: Usage;
  /** The error that the call threw. */
  readonly error?: unknown;
  /** Chunks that were written and not taken back. */
  readonly chunks: readonly UIMessageChunk[];
  /** All chunks that were written, with a `reset-step` where some were taken back. */
  readonly log: readonly UIMessageChunk[];
  readonly delaysMs: readonly number[];
  /** The options that the model received, one entry per attempt. */
  readonly calls: readonly LanguageModelV4CallOptions[];
  readonly savings: Savings;
}

const HELLO: readonly ModelMessage[] = [{ role: "user", content: "Hello." }];

/** Calls a model once, outside of a turn. Waits take no time. */
export async function callWith(options: CallOptions): Promise<Call> {
  const { steps = [], tools = {}, messages = HELLO, onSleep, canReset = true } = options;
  const model = scriptedModel(steps);
  const log: UIMessageChunk[] = [];
  const delaysMs: number[] = [];
  const account = new Account(new MemoryStore(), new Spend({}, NOTHING_SPENT));
  const context = {
    account,
    signal: options.signal ?? new AbortController().signal,
    redact: (text: string) => text.replaceAll("sk-secret", "[redacted]"),
    sleep: async (delayMs: number) => {
      delaysMs.push(delayMs);
      await onSleep?.(delayMs);
    },
  };
  const request = { model: options.model ?? model, instructions: "Be brief.", tools, messages };
  const output: ModelOutput = {
    write: (chunk) => {
      log.push(chunk);
      return options.write?.(chunk);
    },
    idSuffix: options.idSuffix ?? "",
    ...(canReset ? { reset: () => void log.push({ type: "reset-step" }) } : {}),
  };
  const about = { log, delaysMs, calls: model.calls };
  const kept = () => log.slice(log.findLastIndex(({ type }) => type === "reset-step") + 1);
  try {
    const result = await callModel(context, request, output);
    const { counts } = account;
    return { result: { ...result, usage: counts.usage }, ...counts, chunks: kept(), ...about };
  } catch (error) {
    return { error, ...account.counts, chunks: kept(), ...about };
  }
}
