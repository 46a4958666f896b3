import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { LanguageModel, LanguageModelUsage, ModelMessage, ToolSet, UIMessageChunk } from "ai";
import { addLanguageModelUsage } from "ai/internal";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { SavingsCounter } from "../../src/turn/spend/savings.ts";
import { callModel } from "../../src/turn/model/call-model.ts";
import type { CallModelResult, ModelOutput } from "../../src/turn/model/model-try.ts";
import { Account, NOTHING_SPENT, Spend } from "../../src/turn/spend/spend.ts";
import { scriptedModel, type Step } from "../../src/testing.ts";

export interface CallOptions extends Partial<Pick<ModelOutput, "write" | "idSuffix">> {
  readonly signal?: AbortSignal;
  /** One for each try. */
  readonly steps?: readonly Step[];
  /** Instead of the scripted one. */
  readonly model?: LanguageModel;
  readonly tools?: ToolSet;
  readonly messages?: readonly ModelMessage[];
  /** Takes part in a wait, of so many milliseconds. */
  readonly onSleep?: (delayMs: number) => void | Promise<void>;
  /** Without it a call is not tried again. Default: there is one. */
  readonly canReset?: false;
}

export interface Call {
  readonly result?: CallModelResult & Pick<Call, "usage">;
  /** Of all tries, as far as the provider told it. */
  readonly usage: LanguageModelUsage | undefined;
  /** What it threw. */
  readonly error?: unknown;
  /** Written and not taken back. */
  readonly chunks: readonly UIMessageChunk[];
  /** All that was written, and `reset-step` where it was taken back. */
  readonly log: readonly UIMessageChunk[];
  readonly delaysMs: readonly number[];
  /** What the model got, try by try. */
  readonly calls: readonly LanguageModelV4CallOptions[];
  readonly savings: SavingsCounter;
}

const HELLO: readonly ModelMessage[] = [{ role: "user", content: "Hello." }];

/** One call of a model, apart from a turn; waits take no time. */
export async function callWith(options: CallOptions): Promise<Call> {
  const { steps = [], tools = {}, messages = HELLO, onSleep, canReset = true } = options;
  const model = scriptedModel(steps);
  const log: UIMessageChunk[] = [];
  const delaysMs: number[] = [];
  const account = new Account(new MemoryStore(), new Spend({}, NOTHING_SPENT));
  const { savings } = account;
  let usage: LanguageModelUsage | undefined;
  account.addCall = (more) => {
    usage =
      usage === undefined || more === undefined
        ? (more ?? usage)
        : addLanguageModelUsage(usage, more);
  };
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
  const about = { log, delaysMs, calls: model.calls, savings };
  const kept = () => log.slice(log.findLastIndex(({ type }) => type === "reset-step") + 1);
  try {
    const result = await callModel(context, request, output);
    return { result: { ...result, usage }, usage, chunks: kept(), ...about };
  } catch (error) {
    return { error, usage, chunks: kept(), ...about };
  }
}
