import { ByrefError, codeOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { VisitAllowance } from "./query-engine.ts";

/** The rows that several conditions may visit together: as many as one query. */
export class SharedVisits {
  #done = 0;
  /** The conditions that have not run. */
  #left: number;

  constructor(conditions: number) {
    this.#left = conditions;
  }

  /**
   * Runs one of the conditions. Throws `query_too_expensive` if it would visit more than the others have left.
   * An estimate that is too high takes no more than a condition's share of that, so it costs the others nothing.
   */
  async counted<Result extends { readonly visits: number }>(
    run: (allowed: VisitAllowance) => Promise<Result>,
  ): Promise<Result> {
    const most = limits.maxQueryVisits - this.#done;
    const uncounted = Math.floor(most / Math.max(this.#left, 1));
    try {
      const result = await run({ most, uncounted });
      this.#done += result.visits;
      this.#left--;
      return result;
    } catch (error) {
      throw codeOf(error) === "query_too_expensive" ? this.#together(error) : error;
    }
  }

  #together(error: unknown): unknown {
    const { estimate, scans } = (error as Partial<ByrefError>).details ?? {};
    const maximum = limits.maxQueryVisits;
    // Fewer conditions would not help.
    if (this.#done === 0 || Number(estimate) > maximum) return error;
    const sum = Math.round(this.#done + Number(estimate));
    const message = `maxQueryVisits is at most ${maximum} rows for all conditions of an edit, these would visit about ${sum}. Make several calls with fewer conditions, or set more columns by one condition.`;
    return new ByrefError("query_too_expensive", message, { estimate: sum, maximum, scans });
  }
}
