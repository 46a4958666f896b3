import type { JSONSchema7 } from "ai";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { WriteMode } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";

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
  /** Set if each call makes the variable at its output path again, in place, unless that is current by then. */
  readonly remakes?: true;
}

export type PlanFormatName = "json" | "capability-xml" | "template";

/** A name in the run, and how the conversation's variable of this name is written. */
export interface PlanOutput {
  readonly name: string;
  readonly mode: WriteMode;
}

export interface PlanCall {
  readonly id: string;
  readonly tool: string;
  /** References in the parameters are resolved when the call starts. */
  readonly parameters: Readonly<Record<string, Json>>;
  /** Gates that have to be opened before the call starts, e.g. `†approvals.legal`. */
  readonly gates?: readonly string[];
  /** Place of the result, e.g. `†state.user`. `a || b` is one of them, `a && b` all of them. */
  readonly outputPath?: string;
  /** Variables that it reads, beside its references. */
  readonly reads?: readonly string[];
}
