import type { Tokens } from "./metered.ts";

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** The day of the table. Prices change: `--price` sets those of a run. */
export const PRICES_OF = "2026-06-01";

/** List prices by the start of a model's id, as copies of the providers' price lists gave them on that day. */
const PRICES: readonly (readonly [start: string, input: number, cached: number, output: number])[] =
  [
    ["gpt-5.5", 5, 0.5, 30],
    ["gpt-5.4-nano", 0.2, 0.02, 1.25],
    ["gpt-5.4-mini", 0.75, 0.075, 4.5],
    ["gpt-5.4", 2.5, 0.25, 15],
    ["gpt-5.2", 1.75, 0.175, 14],
    ["gpt-5-mini", 0.25, 0.025, 2],
    ["claude-opus-4-6", 5, 0.5, 25],
    ["claude-opus-4-5", 5, 0.5, 25],
    ["claude-sonnet-4", 3, 0.3, 15],
    ["claude-haiku-4-5", 1, 0.1, 5],
  ];

/** Price of scripted models, so that their tables have a cost column: that of gpt-5.2. Nothing is paid. */
const NOMINAL: Price = { input: 1.75, cached: 0.175, output: 14 };

/** Returns the price of `kind:id`; undefined if the table does not have it. */
export function priceOf(model: string): Price | undefined {
  const [kind, ...rest] = model.split(":");
  if (kind === "scripted") return NOMINAL;
  // A provider's prefix, as in `openai/gpt-5.2`, is no part of the id.
  const id = rest.join(":").split("/").at(-1) ?? "";
  const found = PRICES.find(([start]) => id.startsWith(start));
  if (found === undefined) return undefined;
  const [, input, cached, output] = found;
  return { input, cached, output };
}

/** Parses `--price INPUT,CACHED,OUTPUT`. */
export function priceIn(text: string): Price {
  const prices = text.split(",").map(Number);
  const [input = 0, cached = 0, output = 0] = prices;
  if (prices.length === 3 && prices.every((price) => price >= 0)) return { input, cached, output };
  throw new Error(
    `--price needs three prices in dollars for a million tokens, such as 1.75,0.175,14, not ${text}.`,
  );
}

/** Dollars of the tokens. */
export function costOf({ input, cached, output }: Tokens, price: Price): number {
  return (
    ((input - cached) * price.input + cached * price.cached + output * price.output) / 1_000_000
  );
}
