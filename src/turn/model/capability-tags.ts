import type { LanguageModel } from "ai";
import { variableCapability } from "../../plan/capability/variable-capability.ts";
import type { RuntimeTool } from "../../tool/runtime-tool.ts";
import { type Agent, isGiven } from "../agent.ts";
import { capabilityModel, type CapabilityOptions } from "./capability-model.ts";

/** What agents with `toolCalls: "capability-xml"` need. */
export interface CapabilityTags {
  /** The model as one that has native calls. */
  model(model: LanguageModel, options: CapabilityOptions): LanguageModel;
  /** The capability `variable`, as far as the agent has no tools of its names; of agents that call with tags. */
  tools(agent: Agent): readonly RuntimeTool[];
}

/** For `createRuntime`: tool calls as tags in a model's text. */
export const capabilityTags: CapabilityTags = { model: capabilityModel, tools: taggedVariables };

/** Only agents that call with tags expect these tools. Their results are saved where the call says. */
function taggedVariables(agent: Agent): readonly RuntimeTool[] {
  return variableCapability
    .filter(({ name }) => isGiven(name, agent) && !Object.hasOwn(agent.tools, name))
    .map((tool) => ({ ...tool, takesOutputPath: true }));
}
