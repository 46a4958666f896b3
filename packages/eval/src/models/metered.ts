import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Middleware,
} from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { toolOutputs } from "../../../../src/internal-tool.ts";

type WrapGenerate = NonNullable<LanguageModelV4Middleware["wrapGenerate"]>;

/** Returns the model with a function around each call. */
export function around(model: LanguageModelV4, wrapGenerate: WrapGenerate): LanguageModelV4 {
  return wrapLanguageModel({ model, middleware: { specificationVersion: "v4", wrapGenerate } });
}

export interface Tokens {
  /** Cached ones included. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Counts the calls of a model in one cell. Tokens that a provider does not report are a quarter of the characters. */
export class Meter implements Tokens {
  calls = 0;
  input = 0;
  cached = 0;
  output = 0;
  seconds = 0;

  add(promptTokens: number, { usage, content }: LanguageModelV4GenerateResult): void {
    const { inputTokens, outputTokens } = usage;
    this.calls++;
    this.input += inputTokens.total ?? promptTokens;
    this.cached += inputTokens.cacheRead ?? 0;
    this.output += outputTokens.total ?? tokensOf(content);
  }
}

/** A prompt that is larger than the model's context. */
export class DoesNotFit extends Error {
  constructor(tokens: number, maximum: number) {
    super(`the prompt of about ${tokens} tokens does not fit into ${maximum}`);
    this.name = "DoesNotFit";
  }
}

export interface MeterOptions {
  readonly meter: Meter;
  /** Tokens of a prompt; a longer one is not sent. */
  readonly contextTokens: number;
}

/** Returns the model with its calls counted. Failed calls, and waiting for the next try, take no seconds. */
export function metered(
  model: LanguageModelV4,
  { meter, contextTokens }: MeterOptions,
): LanguageModelV4 {
  return around(model, async ({ doGenerate, params }) => {
    const promptTokens = promptTokensOf(params);
    if (promptTokens > contextTokens) throw new DoesNotFit(promptTokens, contextTokens);
    const began = Date.now();
    const result = await doGenerate();
    meter.seconds += (Date.now() - began) / 1_000;
    meter.add(promptTokens, result);
    return result;
  });
}

/** Estimates the tokens of a prompt by its characters, tool definitions included. */
function promptTokensOf({ prompt, tools }: LanguageModelV4CallOptions): number {
  return tokensOf(prompt) + tokensOf(tools ?? []);
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / toolOutputs.CHARS_PER_TOKEN);
}
