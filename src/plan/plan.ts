import type { JSONSchema7 } from "ai";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { WriteMode } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";

/** Work written down before it runs: calls of tools, tied together by what they write and read. */
export interface Plan {
  readonly name?: string;
  /** What it was read from; with it come tools of its own. */
  readonly format: PlanFormatName;
  /** What a run is given, as JSON Schema. Default: anything. */
  readonly input?: JSONSchema7;
  readonly calls: readonly PlanCall[];
  /** How references in the parameters are written. */
  readonly syntaxes: readonly SyntaxName[];
  /** Names that live in one run only, beside `input` and `state`. */
  readonly runNames: readonly string[];
  /** What a run hands on to the conversation when it is done, beside `state`. */
  readonly outputs: readonly PlanOutput[];
  /** `data`: a call starts when what it reads is there. `written`: one after the other. */
  readonly order: "data" | "written";
}

export type PlanFormatName = "json" | "capability-xml" | "template";

/** A name of the run's, and how the conversation's variable of this name is written. */
export interface PlanOutput {
  readonly name: string;
  readonly mode: WriteMode;
}

/** One call of a tool. */
export interface PlanCall {
  readonly id: string;
  readonly tool: string;
  /** References in them are resolved when the call starts. */
  readonly parameters: Readonly<Record<string, Json>>;
  /** Where the result goes, e.g. `†state.user`; `a || b` one of them, `a && b` all of them. */
  readonly outputPath?: string;
}

/** Something that keeps a plan from running; all of them are told at once. */
export interface Finding {
  readonly code: FindingCode;
  /** The id of the call that it is about; absent for what is about none. */
  readonly call?: string;
  /** Where in the call: a parameter's path, `_outputPath`, `_tool`. */
  readonly at?: string;
  readonly message: string;
  /** Of a text that could not be read: from 1. */
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

/** What a front end makes of a text: a plan, or why there is none. */
export type ReadPlan =
  | { readonly plan: Plan; readonly findings: readonly [] }
  | { readonly plan?: undefined; readonly findings: readonly Finding[] };
