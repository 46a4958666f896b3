import type { ToolSet } from "ai";
import type { Finding, ReadPlan } from "./findings.ts";
import type {
  AskModel,
  Plan,
  PlanCall,
  PlanFormatName,
  toolFiles,
  runtimeTools,
} from "../../../../src/internal-tool.ts";
import type { VariableStore } from "../../../../src/internal.ts";
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
    /** The unwrapped tools. Plans are checked against them. */
    readonly plain: ToolSet;
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
