import { McpDirectory } from "./mcp-tools.ts";
import { type Agent, ownTools, withOwnTools } from "../../../src/internal-tool.ts";
import { json } from "../../../src/internal.ts";
import type { Equip } from "../../../src/internal-edge.ts";
import type { ToolPolicy } from "../../../src/runtime.ts";

/** Caches the servers' tool lists for the lifetime of the isolate; it keeps no connections. */
const directory = new McpDirectory();

/**
 * Adds the tools of the agent's servers, and of those in `MCP_SERVERS` that it may use, if they are available. A separate import,
 * because the MCP client is large.
 */
export const mcpTools: Equip = async (agent, { MCP_SERVERS = [] }, signal) => {
  const given = MCP_SERVERS.filter(({ agents }) => agents?.includes(agent.name) ?? true);
  const servers = [...given, ...(agent.mcpServers ?? [])];
  if (servers.length === 0) return withOwnTools(agent);
  const taken = [
    ...Object.keys(agent.tools),
    ...ownTools.runtimeToolNames,
    ...ownTools.capabilityToolNames,
  ];
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
      // They only encode their input as JSON.
      readonlyTools: [...(agent.readonlyTools ?? []), ...Object.keys(mcp.tools)],
    },
    close: () => mcp.close(),
  };
};

/**
 * Merges an application's policy for a server's tool over the policy in the settings. Under `server/tool` all
 * of it applies. Under a plain name, which another server's tool may get later, only what makes the policy
 * stricter.
 */
function joined(policy: ToolPolicy, { policies = {} }: Agent, name: string): ToolPolicy {
  const { aliases = [] } = policy;
  const named = [name, ...aliases].flatMap((alias) => policies[alias] ?? []);
  // Not the first alias, the tool's own name: its server chooses it, and may write "other/tool".
  const merged: ToolPolicy = { ...policy, ...policies[aliases.at(-1) ?? ""] };
  const approvals = new Set([merged, ...named].map(({ approval }) => approval));
  const approval = ([true, "untrusted"] as const).find((one) => approvals.has(one));
  return {
    ...merged,
    ...json.compact({ approval }),
    ...(named.some(({ sealed }) => sealed === true) ? { sealed: true } : {}),
  };
}
