import type {
  LanguageModelV4,
  LanguageModelV4GenerateResult,
  LanguageModelV4Middleware,
} from "@ai-sdk/provider";
import { codeOf, messageOf } from "../../../src/errors.ts";
import type { ModelProvider } from "../../../src/internal-edge.ts";
import { skillModel, skillNamed } from "./scripted-models.ts";
import { wrapLanguageModel } from "ai";
import { toolOutputs } from "../../../src/internal-tool.ts";

/** Settings of the model: `MODEL_BASE_URL`, `MODEL_API_KEY`, `CLOUDFLARE_ACCOUNT_ID`. */
export type ModelEnvironment = Readonly<Record<string, string | undefined>>;

interface Kind {
  readonly setting: string;
  readonly package: string;
  load(): Promise<Pick<ModelProvider, "model">>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "openai-compatible": {
    setting: "MODEL_BASE_URL",
    package: "@ai-sdk/openai-compatible",
    load: async () => (await import("../../../src/openai-compatible.ts")).openaiCompatibleModels,
  },
  anthropic: {
    setting: "MODEL_API_KEY",
    package: "@ai-sdk/anthropic",
    load: async () => (await import("../../../src/anthropic.ts")).anthropicModels,
  },
  openai: {
    setting: "MODEL_API_KEY",
    package: "@ai-sdk/openai",
    load: async () => (await import("../../../src/openai.ts")).openaiModels,
  },
  // Over HTTP, because there is no binding outside of a Worker.
  "workers-ai": {
    setting: "CLOUDFLARE_ACCOUNT_ID",
    package: "workers-ai-provider",
    load: async () => {
      const { createWorkersAI } = await import("workers-ai-provider");
      return {
        model: (id, env) => {
          const { CLOUDFLARE_ACCOUNT_ID: accountId = "", MODEL_API_KEY: apiKey = "" } =
            env as unknown as ModelEnvironment;
          return createWorkersAI({ accountId, apiKey })(id) as LanguageModelV4;
        },
      };
    },
  },
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
  if (!env[known.setting]) throw new Error(`${kind} needs ${known.setting} in the environment.`);
  const provider = await installed(kind, known);
  // Only the settings of models are read.
  const model = provider.model(id, env as never, {} as never) as LanguageModelV4;
  return withoutKey(model, env.MODEL_API_KEY);
}

/** Removes the key from messages of errors, which are logged and stored. */
function withoutKey(model: LanguageModelV4, key: string | undefined): LanguageModelV4 {
  if (key === undefined || key === "") return model;
  return around(model, async ({ doGenerate }) => {
    try {
      return await doGenerate();
    } catch (error) {
      if (error instanceof Error) error.message = error.message.replaceAll(key, "…");
      throw error;
    }
  });
}

async function installed(kind: string, { package: name, load }: Kind) {
  try {
    return await load();
  } catch (error) {
    if (codeOf(error) !== "internal" || !messageOf(error).includes(name)) throw error;
    throw new Error(`${kind} needs the package ${name}: npm install ${name}`, { cause: error });
  }
}

type WrapGenerate = NonNullable<LanguageModelV4Middleware["wrapGenerate"]>;

/** Returns the model with a function around each call. */
function around(model: LanguageModelV4, wrapGenerate: WrapGenerate): LanguageModelV4 {
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
export function meterModel(
  model: LanguageModelV4,
  { meter, contextTokens }: MeterOptions,
): LanguageModelV4 {
  return around(model, async ({ doGenerate, params }) => {
    const promptTokens = tokensOf(params.prompt) + tokensOf(params.tools ?? []);
    if (promptTokens > contextTokens) throw new DoesNotFit(promptTokens, contextTokens);
    const began = Date.now();
    const result = await doGenerate();
    meter.seconds += (Date.now() - began) / 1_000;
    meter.add(promptTokens, result);
    return result;
  });
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / toolOutputs.CHARS_PER_TOKEN);
}

/** Ends a run: the model cannot be reached, or the budget is spent. Finished cells are kept. */
export class RunStopped extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RunStopped";
  }
}

/**
 * Limits the cost of a run. A call is made only if its prompt fits beside all spending so far and all prompts in
 * progress; the output of running calls may exceed the budget. `before`: dollars that earlier parts of the run have spent.
 */
export function budgetFor(maximum: number, price: Price, before: number) {
  let reserved = 0;
  const budget = {
    /** Dollars, of earlier parts of the run too. */
    spent: before,
    /** Returns the model with the cost of its calls counted. A call throws `RunStopped` if there is too little left. */
    limit: (model: LanguageModelV4) =>
      around(model, async ({ doGenerate, params }) => {
        const input = Math.ceil(JSON.stringify(params.prompt).length / 4);
        const prompt = costOf({ input, cached: 0, output: 0 }, price);
        if (budget.spent + reserved + prompt > maximum) {
          throw new RunStopped(`The budget of ${maximum} USD is spent.`);
        }
        reserved += prompt;
        try {
          const result = await doGenerate();
          const { inputTokens, outputTokens } = result.usage;
          const { total = 0, cacheRead = 0 } = inputTokens;
          const tokens = { input: total, cached: cacheRead, output: outputTokens.total ?? 0 };
          budget.spent += costOf(tokens, price);
          return result;
        } finally {
          reserved -= prompt;
        }
      }),
  };
  return budget;
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
  const prices = text.split(",").map(Number);
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
