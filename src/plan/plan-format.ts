import type { ToolSet } from "ai";
import type { Finding, Plan, PlanCall, PlanFormatName, ReadPlan } from "./plan.ts";
import type { ValueLabels } from "../store/labels.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Files } from "../tool/files.ts";
import type { RuntimeTool } from "../tool/runtime-tool.ts";
import type { SaveTarget } from "../tool/save-target.ts";
import type { Effects, CallOptions } from "../tool/wrapped-tool.ts";
import type { Json } from "../value/json.ts";

/** What a format's own tools work with, in one run. */
export interface RunResources {
  /** The conversation's variables, under their own names; a run's own are among them. */
  readonly store: VariableStore;
  /** Without it files cannot be named. */
  readonly files?: Files | undefined;
  /** As `{today}` prints it. */
  readonly today: string;
  readonly ask: AskModel;
}

/** What a front end is given of where its plans run. */
interface PlanFormatContext {
  /** Names of the tools that the agent and the runtime have. */
  readonly toolNames: Iterable<string>;
  readonly hasFiles: boolean;
}

/** A way of writing plans: turns a text into the one compiled form, and brings what only its plans call. */
export interface PlanFormat {
  readonly format: PlanFormatName;
  /** The content types of its texts. */
  readonly mediaTypes: readonly string[];
  read(text: string): ReadPlan;
  /** The same plan with the tools that there are in it. Default: as it was read. */
  fit?(plan: Plan, tools: ToolSet): Promise<Plan>;
  /** Tools beside those of the agent; `isAlone`: in the place of those. */
  readonly own?: {
    /** To check against. */
    readonly plain: ToolSet;
    readonly isAlone?: boolean;
    tools(resources: RunResources): readonly RuntimeTool[];
  };
  /** What else keeps a plan from running. */
  findings?(plan: Plan, context: PlanFormatContext): readonly Finding[];
  /** What calling its own tool again would do. Default: what the tool says. */
  effectsOf?(call: PlanCall, effectsOf: (tool: string) => Effects): Effects;
  /** The conversation's variables that its calls read, beside those that they refer to. */
  reads?(plan: Plan): readonly string[];
}

/** A question to a model that knows nothing of the conversation but its variables. */
export interface ModelQuestion {
  readonly prompt: string;
  /** The agent's tools that the model is given, by name, and where what each gives is saved. */
  readonly tools: ReadonlyMap<string, SaveTarget | undefined>;
  /** Texts that the prompt shows and that are no variables: files. */
  readonly texts?: readonly string[];
  /** The call in which it is asked. */
  readonly call: CallOptions;
}

export interface ModelAnswer {
  /** The answer's text with the values in it; of an answer that is one reference, the value. */
  readonly value: Json;
  /** Inherited from what the model was shown and what it referred to. */
  readonly labels: ValueLabels;
}

/** Rejects with ByrefErrors: `model_failed`, `spend_exceeded` and their like. */
export type AskModel = (question: ModelQuestion) => Promise<ModelAnswer>;
