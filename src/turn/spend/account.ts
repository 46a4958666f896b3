import type { LanguageModelUsage } from "ai";
import type { VariableStore } from "../../store/variable-store.ts";
import type { TurnCounts } from "../log/journal.ts";
import { SavingsCounter } from "./savings.ts";
import type { Spend } from "./spend.ts";
import { addUsage, type Usage } from "./usage.ts";

/** What a turn, or a plan's run, has cost so far, the agents that were asked inside of it included. */
export class Account {
  readonly savings: SavingsCounter;
  readonly spend: Spend;
  #usage: Usage = {};

  constructor(store: VariableStore, spend: Spend) {
    this.savings = new SavingsCounter(store);
    this.spend = spend;
  }

  get usage(): Usage {
    return this.#usage;
  }

  get counts(): Pick<TurnCounts, "usage" | "savings" | "spent"> {
    return { usage: this.#usage, savings: this.savings.savings, spent: this.spend.turn };
  }

  /** One call of a model, as far as its provider told it. */
  addCall(usage: LanguageModelUsage | undefined): void {
    this.#usage = addUsage(this.#usage, usage);
    this.spend.addTokens(usage?.totalTokens ?? 0);
  }

  /** Counts on from there. */
  restore({ usage, savings, spent }: Pick<TurnCounts, "usage" | "savings" | "spent">): void {
    this.#usage = usage;
    this.savings.restore(savings);
    this.spend.restore(spent);
  }
}
