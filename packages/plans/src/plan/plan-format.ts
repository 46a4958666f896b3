import type { ToolSet } from "ai";
import * as limits from "../../../../src/limits.ts";
import type {
  AskModel,
  Plan,
  PlanCall,
  PlanFormatName,
  toolFiles,
  runtimeTools,
} from "../../../../src/internal-tool.ts";
import { characters, type VariableStore } from "../../../../src/internal.ts";
import type { Effects } from "../../../../src/runtime.ts";

/** The resources of a format's own tools in one run. */
export interface RunResources {
  /** The conversation's variables under their own names, including the run's own. */
  readonly store: VariableStore;
  /** Without it, plans cannot use files. */
  readonly files?: toolFiles.Files | undefined;
  /** The day that `{today}` prints. */
  readonly today: string;
  readonly ask: AskModel;
}

/** The UTC day of a time in milliseconds since 1970, as `{today}` prints it. */
export function dayAt(timeMs: number): string {
  const [day = ""] = new Date(timeMs).toISOString().split("T");
  return day;
}

/**
 * A text format for plans. Parses a text into the one compiled form, and provides tools that only its plans
 * call.
 */
export interface PlanFormat {
  readonly format: PlanFormatName;
  /** The content types of its texts. */
  readonly mediaTypes: readonly string[];
  read(text: string): ReadPlan;
  /** Adapts the plan to the existing tools. Default: unchanged. */
  fit?(plan: Plan, tools: ToolSet): Promise<Plan>;
  /** Tools in addition to the agent's. With `isAlone`, they replace the agent's tools. */
  readonly own?: {
    readonly isAlone?: boolean;
    tools(resources: RunResources): readonly runtimeTools.RuntimeTool[];
  };
  /** Further findings that keep a plan from running. `toolNames`: the agent's and the runtime's. */
  findings?(
    plan: Plan,
    context: { readonly toolNames: Iterable<string>; readonly hasFiles: boolean },
  ): readonly Finding[];
  /** Effects of calling the format's own tool again. Default: the tool's effects. */
  effectsOf?(call: PlanCall, effectsOf: (tool: string) => Effects): Effects;
  /** The conversation's variables that its calls read, in addition to those that they reference. */
  reads?(plan: Plan): readonly string[];
}

/** The parameter that a tag's body becomes if its tool declares none for it: such a call is refused. */
export const BODY = "_body";

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
