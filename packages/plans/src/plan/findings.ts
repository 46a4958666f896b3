import * as limits from "../../../../src/limits.ts";
import { characters } from "../../../../src/internal.ts";
import type { Plan } from "../../../../src/internal-tool.ts";

/** A fault that keeps a plan from running. All faults are reported at once. */
export interface Finding {
  readonly code: FindingCode;
  /** The id of the call. Absent for a fault of the whole plan. */
  readonly call?: string;
  /** The location in the call: a parameter's path, `_outputPath` or `_tool`. */
  readonly at?: string;
  readonly message: string;
  /** The line in an unreadable text, from 1. */
  readonly line?: number;
  readonly column?: number;
}

export type FindingCode =
  | "bad_plan"
  | "bad_xml"
  | "bad_directive"
  | "no_bucket"
  | "unknown_tool"
  | "duplicate_id"
  | "invalid_parameters"
  | "bad_reference"
  | "no_producer"
  | "duplicate_producer"
  | "bad_output_path"
  | "cycle"
  /** Notes on a plan that was made from a conversation. They do not keep it from running. */
  | "became_input"
  | "kept_variable"
  | "too_many_calls";

export type ReadPlan =
  | { readonly plan: Plan; readonly findings: readonly [] }
  | { readonly plan?: undefined; readonly findings: readonly Finding[] };

/** The first `maxShownItems` findings of a plan, and the number of further ones. */
export class Findings {
  readonly #findings: Finding[] = [];
  #more = 0;

  constructor(findings: readonly Finding[] = []) {
    for (const one of findings) this.add(one);
  }

  get isEmpty(): boolean {
    return this.#findings.length === 0;
  }

  add({ at, message, ...about }: Finding): void {
    if (this.#findings.length === limits.maxShownItems) {
      this.#more++;
      return;
    }
    const place = at === undefined ? {} : { at: characters.clip(at, limits.maxShapeChars) };
    // There is at most one cycle, and it is shown in full.
    const text = about.code === "cycle" ? message : characters.clip(message, limits.maxReasonChars);
    this.#findings.push({ ...about, ...place, message: text });
  }

  /** Returns the findings. If some were left out, the last one gives their number. */
  list(): readonly Finding[] {
    if (this.#more === 0) return this.#findings;
    return [
      ...this.#findings,
      { code: "bad_plan", message: `There are ${this.#more} more findings.` },
    ];
  }
}

export function tooManyCalls(actual: number): Finding {
  const message = `A plan has at most ${limits.maxPlanItems} calls, this one ${actual}: split it into several plans.`;
  return { code: "too_many_calls", message };
}
