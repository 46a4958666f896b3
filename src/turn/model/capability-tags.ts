import type { LanguageModel } from "ai";
import type { RuntimeTool } from "../../tool/runtime-tool.ts";
import type { WrapOptions, WrappedTool } from "../../tool/wrapped-tool.ts";
import type { Agent } from "../agent.ts";
import { capabilityModel, type CapabilityOptions } from "./capability-model.ts";
import { taggedVariables, wrapTaggedVariables } from "./tagged-variables.ts";

/** What agents with `toolCalls: "capability-xml"` need. */
export interface CapabilityTags {
  /** The model as one that has native calls. */
  model(model: LanguageModel, options: CapabilityOptions): LanguageModel;
  /** The capability `variable`, as far as the agent has no tools of its names; of agents that call with tags. */
  tools(agent: Agent): readonly RuntimeTool[];
  wrap(
    tools: readonly RuntimeTool[],
    options: WrapOptions,
  ): Promise<ReadonlyMap<string, WrappedTool>>;
}

/** For `createRuntime`: tool calls as tags in a model's text. */
export const capabilityTags: CapabilityTags = {
  model: capabilityModel,
  tools: taggedVariables,
  wrap: wrapTaggedVariables,
};
