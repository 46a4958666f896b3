import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Price, priceIn, priceOf } from "../models/prices.ts";

export const HELP = `byref eval: does your model work better with references? Needs a key of your own.

  byref eval --model MODEL     plays the tasks on all arms, and writes tables, charts and a page
  byref eval --compare A B     compares two results, folders or results.json

MODEL is openai-compatible:NAME, anthropic:NAME, openai:NAME or workers-ai:NAME, with MODEL_API_KEY and, where it
is not the provider's own, MODEL_BASE_URL in the environment (workers-ai: CLOUDFLARE_ACCOUNT_ID). scripted:NAME
needs no key, and measures nothing but the evaluation itself: scripted:sloppy, scripted:exact …

  --quick                      small sizes, 3 tasks of each kind: a first impression
  --count N                    tasks of each kind (default: 10), and of each set (default: 100)
  --seed N                     the first seed (default: 1)
  --budget USD                 stops before more is spent; needed above an estimate of 5 USD
  --price IN,CACHED,OUT        dollars for a million tokens, in place of the table's
  --estimate                   only says about what it would cost
  --arms A,B                   only these: "by value", cap, offload, reference, "reference, code, SQL", by the
                               words value, cap, offload, reference, code
  --set NAME=FOLDER            also a public set in this folder: nestful, complexfuncbench, tau, traces
  --only-sets                  no tasks but those of --set
  --variant FILE               other texts in place of Byref's guide, tool descriptions and errors
  --context TOKENS             of the model's window (default: 200000); longer prompts are not sent
  --concurrency N              tasks at the same time (default: 4)
  --out FOLDER                 where results are written (default: eval-results/MODEL)
  --cache FOLDER               where answers are kept (default: eval-results/cache)

A stopped run continues where it stopped when you start it again.`;

const options = {
  model: { type: "string" },
  compare: { type: "boolean" },
  quick: { type: "boolean" },
  count: { type: "string" },
  seed: { type: "string" },
  budget: { type: "string" },
  price: { type: "string" },
  estimate: { type: "boolean" },
  arms: { type: "string" },
  set: { type: "string", multiple: true },
  "only-sets": { type: "boolean" },
  variant: { type: "string" },
  context: { type: "string" },
  concurrency: { type: "string" },
  out: { type: "string" },
  cache: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

export interface NamedSet {
  readonly name: string;
  readonly folder: string;
}

/** A parsed command line. */
export type EvalCommand =
  | { readonly kind: "help" }
  | { readonly kind: "compare"; readonly first: string; readonly second: string }
  | { readonly kind: "run"; readonly options: EvalOptions };

export interface EvalOptions {
  readonly model: string;
  readonly isQuick: boolean;
  readonly count: number;
  /** Tasks of each public set. */
  readonly setCount: number;
  readonly seed: number;
  /** Dollars. Infinite without `--budget`. */
  readonly budget: number;
  readonly price: (Price & { readonly of: string }) | undefined;
  readonly onlyEstimates: boolean;
  /** Words of arms. Undefined: all. */
  readonly arms: readonly string[] | undefined;
  readonly sets: readonly NamedSet[];
  readonly onlySets: boolean;
  /** A file. */
  readonly variant: string | undefined;
  readonly contextTokens: number;
  readonly concurrency: number;
  readonly out: string;
  readonly cache: string;
}

/** Parses the arguments behind `eval`. Throws an error that says what is missing. */
export function evalCommand(args: readonly string[], pricesOf: string): EvalCommand {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [first, second] = positionals;
  if (values.help === true) return { kind: "help" };
  if (values.compare === true) {
    if (first === undefined || second === undefined)
      throw new Error("--compare needs two results.");
    return { kind: "compare", first, second };
  }
  if (first !== undefined) throw new Error(`${first} is not an option.\n\n${HELP}`);
  const { model } = values;
  if (model === undefined) throw new Error(`--model is missing.\n\n${HELP}`);
  const isQuick = values.quick === true;
  const price = values.price === undefined ? priceOf(model) : priceIn(values.price);
  const of = values.price === undefined ? `list of ${pricesOf}` : "as given with --price";
  return {
    kind: "run",
    options: {
      model,
      isQuick,
      count: numberIn(values.count, { name: "count", otherwise: isQuick ? 3 : 10 }),
      setCount: numberIn(values.count, { name: "count", otherwise: isQuick ? 10 : 100 }),
      seed: numberIn(values.seed, { name: "seed", otherwise: 1 }),
      budget: numberIn(values.budget, { name: "budget", otherwise: Number.POSITIVE_INFINITY }),
      price: price === undefined ? undefined : { ...price, of },
      onlyEstimates: values.estimate === true,
      arms: values.arms?.split(",").map((word) => word.trim()),
      sets: (values.set ?? []).map(setIn),
      onlySets: values["only-sets"] === true,
      variant: values.variant,
      contextTokens: numberIn(values.context, { name: "context", otherwise: 200_000 }),
      concurrency: Math.max(1, numberIn(values.concurrency, { name: "concurrency", otherwise: 4 })),
      out: values.out ?? join("eval-results", model.replaceAll(/[^\w.-]+/gu, "-")),
      cache: values.cache ?? join("eval-results", "cache"),
    },
  };
}

function numberIn(
  text: string | undefined,
  { name, otherwise }: { readonly name: string; readonly otherwise: number },
): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text.trim() !== "" && value >= 0) return value;
  throw new Error(`--${name} needs a number, not ${text}.`);
}

function setIn(text: string): NamedSet {
  const [name = "", ...rest] = text.split("=");
  const folder = rest.join("=");
  if (folder === "") throw new Error(`--set needs NAME=FOLDER, not ${text}.`);
  return { name, folder };
}
