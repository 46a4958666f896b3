import type { ToolSet } from "ai";
import type { Naming } from "../tool/wrap-tool.ts";

/** What running a tool again after a crash would do. */
export type Effects = "none" | "idempotent" | "once";

/** Who answers: instructions and tools, with the model and the variables supplied by the runtime. */
export interface Agent {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly tools: ToolSet;
  /** By tool; `once` for those that are not named. */
  readonly effects?: Readonly<Record<string, Effects>>;
  /** Names the variables that results are saved as. Default: tool and most telling argument. */
  readonly naming?: Naming;
}
