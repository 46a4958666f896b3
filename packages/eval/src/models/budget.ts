import type { LanguageModelV4 } from "@ai-sdk/provider";
import { around, type Tokens } from "./metered.ts";
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
  readonly #limit: number;
  readonly #price: Price | undefined;
  #spent: number;
  #reserved = 0;

  constructor(limit: number, price: Price | undefined, spent: number) {
    this.#limit = limit;
    this.#price = price;
    this.#spent = spent;
  }

  /** Dollars, of earlier parts of the run too. */
  get spent(): number {
    return this.#spent;
  }

  /** Reserves the price of a prompt until the returned function is called. Throws `RunStopped` if it is not there. */
  reserve(promptTokens: number): () => void {
    const cost =
      this.#price === undefined
        ? 0
        : costOf({ input: promptTokens, cached: 0, output: 0 }, this.#price);
    if (this.#spent + this.#reserved + cost > this.#limit) {
      throw new RunStopped(`The budget of ${this.#limit} USD is spent.`);
    }
    this.#reserved += cost;
    return () => {
      this.#reserved -= cost;
    };
  }

  /** Adds the tokens of a call that was sent. */
  spend(tokens: Tokens): void {
    if (this.#price !== undefined) this.#spent += costOf(tokens, this.#price);
  }
}

/** Returns the model with the cost of its calls counted. */
export function spending(model: LanguageModelV4, budget: Budget): LanguageModelV4 {
  return around(model, async ({ doGenerate, params }) => {
    const release = budget.reserve(Math.ceil(JSON.stringify(params.prompt).length / 4));
    try {
      const result = await doGenerate();
      const { inputTokens, outputTokens } = result.usage;
      budget.spend({
        input: inputTokens.total ?? 0,
        cached: inputTokens.cacheRead ?? 0,
        output: outputTokens.total ?? 0,
      });
      return result;
    } finally {
      release();
    }
  });
}
