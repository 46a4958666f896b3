import type { LanguageModelV4, LanguageModelV4Middleware } from "@ai-sdk/provider";
import { codeOf, messageOf } from "../../../src/errors.ts";
import type { ModelProvider } from "../../../src/internal-edge.ts";
import { skillModel, skillNamed } from "./scripted-models.ts";
import { wrapLanguageModel } from "ai";
import { toolOutputs } from "../../../src/internal-tool.ts";

/** Settings of the model: `MODEL_BASE_URL`, `MODEL_API_KEY`. */
export type ModelEnvironment = Readonly<Record<string, string | undefined>>;

/** The setting that a kind of model needs, and what makes its models, from the package `@ai-sdk/KIND`. */
type Kind = readonly [setting: string, load: () => Promise<Pick<ModelProvider, "model">>];

const KINDS: Readonly<Record<string, Kind>> = {
  "openai-compatible": [
    "MODEL_BASE_URL",
    async () => (await import("../../providers/src/openai-compatible.ts")).openaiCompatibleModels,
  ],
  anthropic: [
    "MODEL_API_KEY",
    async () => (await import("../../providers/src/anthropic.ts")).anthropicModels,
  ],
  openai: [
    "MODEL_API_KEY",
    async () => (await import("../../providers/src/openai.ts")).openaiModels,
  ],
};

export async function modelNamed(name: string, env: ModelEnvironment): Promise<LanguageModelV4> {
  const [kind = "", ...rest] = name.split(":");
  const id = rest.join(":");
  if (kind === "scripted") return skillModel(skillNamed(id));
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (known === undefined || id === "") {
    const forms = [...Object.keys(KINDS), "scripted"].map((one) => `${one}:NAME`);
    throw new Error(`--model needs ${forms.join(", ")}, not ${name}.`);
  }
  const [setting, load] = known;
  const module = `@ai-sdk/${kind}`;
  if (!env[setting]) throw new Error(`${kind} needs ${setting} in the environment.`);
  const provider = await load().catch((error: unknown) => {
    if (codeOf(error) !== "internal" || !messageOf(error).includes(module)) throw error;
    throw new Error(`${kind} needs the package ${module}: npm install ${module}`, { cause: error });
  });
  // Only the settings of models are read.
  const model = provider.model(id, env as never, {} as never) as LanguageModelV4;
  return withoutKey(model, env.MODEL_API_KEY);
}

/** Removes the key from messages of errors, which are logged and stored. */
function withoutKey(model: LanguageModelV4, key: string | undefined): LanguageModelV4 {
  if (key === undefined || key === "") return model;
  return wrapModel(model, async ({ doGenerate }) => {
    try {
      return await doGenerate();
    } catch (error) {
      if (error instanceof Error) error.message = error.message.replaceAll(key, "…");
      throw error;
    }
  });
}

type WrapGenerate = NonNullable<LanguageModelV4Middleware["wrapGenerate"]>;

/** Returns the model with a function around each call. */
function wrapModel(model: LanguageModelV4, wrapGenerate: WrapGenerate): LanguageModelV4 {
  return wrapLanguageModel({ model, middleware: { specificationVersion: "v4", wrapGenerate } });
}

interface Tokens {
  /** Cached ones included. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** What the calls of a model took in one cell. */
export class Meter implements Tokens {
  calls = 0;
  input = 0;
  cached = 0;
  output = 0;
  seconds = 0;
}

/** Ends a run: the model cannot be reached, or the budget is spent. Finished cells are kept. */
export class RunStopped extends Error {
  override readonly name = "RunStopped";
}

/** The budget of a run, in dollars. `spent` includes earlier parts of the run. */
export interface Budget {
  readonly maximum: number;
  readonly price: Price;
  spent: number;
  /** For the prompts of running calls. Their output may exceed the budget. */
  reserved: number;
}

export interface MeterOptions {
  readonly meter: Meter;
  readonly budget: Budget;
}

/**
 * Returns the model with its calls counted and paid. A call throws `RunStopped` if its prompt does not fit beside all
 * spending so far. Failed calls, and waiting for the next try, take no seconds. Tokens that a provider does not report
 * are a quarter of the characters.
 */
export function meterModel(
  model: LanguageModelV4,
  { meter, budget }: MeterOptions,
): LanguageModelV4 {
  return wrapModel(model, async ({ doGenerate, params }) => {
    const prompt = tokensOf(params.prompt) + tokensOf(params.tools ?? []);
    const { price, maximum } = budget;
    const cost = costOf({ input: prompt, cached: 0, output: 0 }, price);
    if (budget.spent + budget.reserved + cost > maximum)
      throw new RunStopped(`The budget of ${maximum} USD is spent.`);
    budget.reserved += cost;
    const began = Date.now();
    try {
      const result = await doGenerate();
      const { inputTokens, outputTokens } = result.usage;
      const input = inputTokens.total ?? prompt;
      const cached = inputTokens.cacheRead ?? 0;
      const output = outputTokens.total ?? tokensOf(result.content);
      meter.seconds += (Date.now() - began) / 1_000;
      meter.calls++;
      meter.input += input;
      meter.cached += cached;
      meter.output += output;
      budget.spent += costOf({ input, cached, output }, price);
      return result;
    } finally {
      budget.reserved -= cost;
    }
  });
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / toolOutputs.CHARS_PER_TOKEN);
}

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** The price of scripted models, so that their tables have a cost column: that of gpt-5.2. Nothing is paid. */
export const NOMINAL: Price = { input: 1.75, cached: 0.175, output: 14 };

export function priceIn(text: string): Price {
  // An empty text would be the number 0.
  const prices = text.split(",").map((one) => Number(one.trim() || Number.NaN));
  const [input = 0, cached = 0, output = 0] = prices;
  if (prices.length === 3 && prices.every((price) => price >= 0)) return { input, cached, output };
  throw new Error(
    `--price needs three prices in dollars for a million tokens, such as 1.75,0.175,14, not ${text}.`,
  );
}

export function costOf({ input, cached, output }: Tokens, price: Price): number {
  return (
    ((input - cached) * price.input + cached * price.cached + output * price.output) / 1_000_000
  );
}
