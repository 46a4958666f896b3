import type { Agent } from "./agent.ts";
import type { WrapOptions } from "../tool/wrapped-tool.ts";

/** How an agent has its tools wrapped. */
export function wrapOptionsFor(agent: Agent): Omit<WrapOptions, "store"> {
  const { naming, readonlyTools, policies, policy, untrusted } = agent;
  const { outputPath, references: { syntaxes, unknown } = {} } = taggedAgent(agent);
  return {
    ...(policies === undefined ? {} : { policies }),
    ...(policy === undefined ? {} : { policy }),
    ...(untrusted === undefined ? {} : { untrusted }),
    ...(outputPath === undefined ? {} : { outputPath }),
    ...(naming === undefined ? {} : { naming }),
    ...(readonlyTools === undefined ? {} : { readonlyTools }),
    ...(syntaxes === undefined ? {} : { syntaxes }),
    ...(unknown === undefined ? {} : { unknown }),
  };
}

/**
 * What an agent that calls tools with tags is unless it says otherwise: results go where a tag says, and tags
 * hold `{{name}}`.
 */
function taggedAgent(agent: Agent): Agent {
  if (agent.toolCalls !== "capability-xml") return agent;
  const { outputPath = true, references } = agent;
  return { ...agent, outputPath, references: { syntaxes: ["dollar", "mustache"], ...references } };
}
