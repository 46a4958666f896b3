import type { LanguageModelV4 } from "@ai-sdk/provider";
import { around } from "./metered.ts";
import { costOf, type Price } from "./prices.ts";

/** Ends a run: the model cannot be reached, or the budget is spent. Finished cells are kept. */
export class RunStopped extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RunStopped";
  }
}

/**
 * Limits the cost of a run. A call is made only if its prompt fits beside all spending so far and all prompts in
 * progress; the output of running calls may exceed the budget.
 */
export class Budget {
  /** Dollars, of earlier parts of the run too. */
  spent: number;
  #reserved = 0;
  readonly #limit: number;
  readonly #price: Price;

  constructor(limit: number, price: Price, spent: number) {
    this.#limit = limit;
    this.#price = price;
    this.spent = spent;
  }

  /** Returns the model with the cost of its calls counted. A call throws `RunStopped` if there is too little left. */
  limit(model: LanguageModelV4): LanguageModelV4 {
    return around(model, async ({ doGenerate, params }) => {
      const input = Math.ceil(JSON.stringify(params.prompt).length / 4);
      const prompt = costOf({ input, cached: 0, output: 0 }, this.#price);
      if (this.spent + this.#reserved + prompt > this.#limit) {
        throw new RunStopped(`The budget of ${this.#limit} USD is spent.`);
      }
      this.#reserved += prompt;
      try {
        const result = await doGenerate();
        const { inputTokens, outputTokens } = result.usage;
        const { total = 0, cacheRead = 0 } = inputTokens;
        const tokens = { input: total, cached: cacheRead, output: outputTokens.total ?? 0 };
        this.spent += costOf(tokens, this.#price);
        return result;
      } finally {
        this.#reserved -= prompt;
      }
    });
  }
}
