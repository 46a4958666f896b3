import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";
import type { Finding } from "./plan.ts";

/** The first `maxPlanFindings` findings of a plan, and the number of further ones. */
export class Findings {
  readonly #findings: Finding[] = [];
  /** Number of findings left out. */
  #more = 0;

  constructor(findings: readonly Finding[] = []) {
    this.#addEach(findings);
  }

  get isEmpty(): boolean {
    return this.#findings.length === 0;
  }

  add(...findings: readonly Finding[]): void {
    this.#addEach(findings);
  }

  /** A loop, because there may be more findings than a call accepts arguments. */
  #addEach(findings: readonly Finding[]): void {
    for (const { at, message, ...about } of findings) {
      if (this.#findings.length === limits.maxPlanFindings) this.#more++;
      else {
        const place = at === undefined ? {} : { at: clip(at, limits.maxFindingPlaceChars) };
        // There is at most one cycle, and it is shown in full.
        const text = about.code === "cycle" ? message : clip(message, limits.maxFindingChars);
        this.#findings.push({ ...about, ...place, message: text });
      }
    }
  }

  addAll(others: Findings): void {
    this.add(...others.#findings);
    this.#more += others.#more;
  }

  /** Returns the findings. If some were left out, the last one gives their number. */
  list(): readonly Finding[] {
    if (this.#more === 0) return this.#findings;
    return [
      ...this.#findings,
      { code: "bad_plan", message: `There are ${this.#more} findings more.` },
    ];
  }
}

export function tooManyCalls(actual: number): Finding {
  const message = `A plan has at most ${limits.maxPlanCalls} calls, this one ${actual}.`;
  return { code: "too_many_calls", message };
}
