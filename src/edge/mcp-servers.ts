import { variableCapability } from "../plan/capability/variable-capability.ts";
import { runtimeToolNames } from "../tool/variables/variable-tools.ts";
import { McpDirectory } from "../tool/mcp/mcp-tools.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Agent } from "../turn/agent.ts";
import type { Equip } from "./turns/chosen-agent.ts";

/** As long as the isolate lives: what is known of the servers, but no connection. */
const directory = new McpDirectory();

/**
 * The agent with the tools of those servers of `MCP_SERVERS` that are meant for it and answer. Imported by
 * whoever wants MCP: its client is large.
 */
export const mcpTools: Equip = async (agent, { MCP_SERVERS = [] }, signal) => {
  const servers = MCP_SERVERS.filter(({ agents }) => agents?.includes(agent.name) ?? true);
  if (servers.length === 0) return { agent, close: () => Promise.resolve() };
  const own = variableCapability.map(({ name }) => name);
  const taken = [...Object.keys(agent.tools), ...runtimeToolNames, ...own];
  const mcp = await directory.open(servers, { taken, signal });
  const policies = Object.fromEntries(
    Object.entries(mcp.policies).map(([name, policy]) => [name, joined(policy, agent, name)]),
  );
  return {
    agent: {
      ...agent,
      tools: { ...agent.tools, ...mcp.tools },
      policies: { ...agent.policies, ...policies },
      effects: { ...mcp.effects, ...agent.effects },
      // They only write their input down as JSON.
      readonlyTools: [...(agent.readonlyTools ?? []), ...Object.keys(mcp.tools)],
    },
    close: () => mcp.close(),
  };
};

/**
 * What the application says of a server's tool goes before what the settings say: all of it under
 * `server/tool`, and under a name that another server's tool may come to have, only what makes it stricter.
 */
function joined(policy: ToolPolicy, { policies = {} }: Agent, name: string): ToolPolicy {
  const { aliases = [] } = policy;
  const named = [name, ...aliases].flatMap((alias) => policies[alias] ?? []);
  const own = aliases.filter((alias) => alias.includes("/")).map((alias) => policies[alias]);
  return {
    ...Object.assign({}, policy, ...own),
    ...(named.some(({ approval }) => approval === true) ? { approval: true } : {}),
    ...(named.some(({ sealed }) => sealed === true) ? { sealed: true } : {}),
  };
}
