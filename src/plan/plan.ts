import type { JSONSchema7 } from "ai";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { WriteMode } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";
import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";

/** A plan: tool calls written before they run, connected by the values that they write and read. */
export interface Plan {
  readonly name?: string;
  /** The format of its source text. The format adds tools of its own. */
  readonly format: PlanFormatName;
  /** JSON Schema of a run's input. Default: any value. */
  readonly input?: JSONSchema7;
  readonly calls: readonly PlanCall[];
  /** The syntaxes of references in the parameters. */
  readonly syntaxes: readonly SyntaxName[];
  /** Names that exist only within a run, in addition to `input` and `state`. */
  readonly runNames: readonly string[];
  /** Values that a finished run passes on to the conversation, in addition to `state`. */
  readonly outputs: readonly PlanOutput[];
  /** `data`: a call starts when the values that it reads exist. `written`: calls run one after another. */
  readonly order: "data" | "written";
}

export type PlanFormatName = "json" | "capability-xml" | "template";

/** A name in the run, and how the conversation's variable of this name is written. */
export interface PlanOutput {
  readonly name: string;
  readonly mode: WriteMode;
}

/** A call of a tool. */
export interface PlanCall {
  readonly id: string;
  readonly tool: string;
  /** References in the parameters are resolved when the call starts. */
  readonly parameters: Readonly<Record<string, Json>>;
  /** Gates that have to be opened before the call starts, e.g. `†approvals.legal`. */
  readonly gates?: readonly string[];
  /** Place of the result, e.g. `†state.user`. `a || b` is one of them, `a && b` all of them. */
  readonly outputPath?: string;
}

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
  | "too_many_calls";

/** The result of reading a text: a plan, or the reasons why it cannot be read. */
export type ReadPlan =
  | { readonly plan: Plan; readonly findings: readonly [] }
  | { readonly plan?: undefined; readonly findings: readonly Finding[] };

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
      { code: "bad_plan", message: `There are ${this.#more} more findings.` },
    ];
  }
}

export function tooManyCalls(actual: number): Finding {
  const message = `A plan has at most ${limits.maxPlanCalls} calls, this one ${actual}: split it into several plans.`;
  return { code: "too_many_calls", message };
}
