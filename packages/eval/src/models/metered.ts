import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import { around } from "./model-middleware.ts";

export interface Tokens {
  /** Cached ones included. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

const CHARS_PER_TOKEN = 4;

/** Counts the calls of a model in one cell. */
export class Meter implements Tokens {
  calls = 0;
  input = 0;
  cached = 0;
  output = 0;
  seconds = 0;
  /** True if the provider did not report tokens: they are then a quarter of the characters. */
  isEstimated = false;

  add(promptTokens: number, result: LanguageModelV4GenerateResult, seconds: number): void {
    const { inputTokens, outputTokens } = result.usage;
    this.calls++;
    this.isEstimated ||= inputTokens.total === undefined || outputTokens.total === undefined;
    this.input += inputTokens.total ?? promptTokens;
    this.cached += inputTokens.cacheRead ?? 0;
    this.output += outputTokens.total ?? tokensOf(result.content);
    this.seconds += seconds;
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

/** Returns the model with its calls counted. */
export function metered(
  model: LanguageModelV4,
  { meter, contextTokens }: MeterOptions,
): LanguageModelV4 {
  return around(model, async ({ doGenerate, params }) => {
    const promptTokens = promptTokensOf(params);
    if (promptTokens > contextTokens) throw new DoesNotFit(promptTokens, contextTokens);
    const result = await doGenerate();
    meter.add(promptTokens, result, secondsOf(result));
    return result;
  });
}

/** Estimates the tokens of a prompt by its characters, tool definitions included. */
function promptTokensOf({ prompt, tools }: LanguageModelV4CallOptions): number {
  return tokensOf(prompt) + tokensOf(tools ?? []);
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARS_PER_TOKEN);
}

/** The time that answers took when they were new. */
const SECONDS = new WeakMap<LanguageModelV4GenerateResult, number>();

/** Returns the model with the time of each answer noted, without waiting for the provider's limits. */
export function timed(model: LanguageModelV4, now: () => number): LanguageModelV4 {
  return around(model, async ({ doGenerate }) => {
    const began = now();
    const result = await doGenerate();
    SECONDS.set(result, (now() - began) / 1_000);
    return result;
  });
}

export function setSeconds(result: LanguageModelV4GenerateResult, seconds: number): void {
  SECONDS.set(result, seconds);
}

/** Zero for an answer of a model that is not timed. */
export function secondsOf(result: LanguageModelV4GenerateResult): number {
  return SECONDS.get(result) ?? 0;
}
