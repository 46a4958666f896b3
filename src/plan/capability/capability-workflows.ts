import type { ToolSet } from "ai";
import { readCapabilities, type NamedCall } from "./capability-xml.ts";
import { coerceParameters, parametersIn } from "./parameters.ts";
import { variableCapability } from "./variable-capability.ts";
import type { PlanFormat } from "../plan-format.ts";
import type { Plan, PlanCall } from "../plan.ts";
import { jsonSchemaOf } from "../../tool/tool-input.ts";

/** The plan format of capability workflows: XML tags that run in the written order. */
export const capabilityWorkflows: PlanFormat = {
  format: "capability-xml",
  mediaTypes: ["application/xml", "text/xml"],
  read: readCapabilities,
  fit: withKnownTools,
  own: {
    plain: Object.fromEntries(
      variableCapability.map(({ name, inputSchema }) => [name, { inputSchema }]),
    ),
    tools: () => variableCapability,
  },
};

/**
 * Replaces a workflow's capabilities with existing tools, and converts attributes to the types of the tools'
 * parameters. `web` with the action `generate` is the tool `web_generate`, or else `web`, which receives the
 * `action` if it has such a parameter. Calls without a matching tool, and plans of other formats, are
 * unchanged.
 */
export async function withKnownTools(plan: Plan, tools: ToolSet): Promise<Plan> {
  if (plan.format !== "capability-xml") return plan;
  return { ...plan, calls: await Promise.all(plan.calls.map((call) => withTool(call, tools))) };
}

async function withTool(named: NamedCall, tools: ToolSet): Promise<PlanCall> {
  const { capability, ...call } = named;
  const resolved = await resolveTool(call, { capability, tools });
  const tool = toolNamed(resolved.tool, tools);
  if (tool === undefined) return call;
  return {
    ...resolved,
    parameters: coerceParameters(resolved.parameters, await jsonSchemaOf(tool, resolved.tool)),
  };
}

/**
 * Names and actions may contain underscores. If the exact name is unknown, the longest matching tool name
 * counts.
 */
async function resolveTool(
  call: PlanCall,
  { capability, tools }: { readonly capability: string | undefined; readonly tools: ToolSet },
): Promise<PlanCall> {
  if (toolNamed(call.tool, tools) !== undefined) return call;
  if (capability !== undefined && toolNamed(capability, tools) !== undefined) {
    const resolved = await withAction(call, { name: capability, tools });
    return resolved ?? { ...call, tool: capability };
  }
  const end = call.tool.length;
  for (let at = call.tool.lastIndexOf("_", end); at > 0; at = call.tool.lastIndexOf("_", at - 1)) {
    const resolved = await withAction(call, { name: call.tool.slice(0, at), tools });
    if (resolved !== undefined) return resolved;
  }
  return call;
}

/**
 * Calls the tool with the rest of the name as its `action`. Undefined if the tool, the rest or the parameter
 * does not exist.
 */
async function withAction(
  call: PlanCall,
  { name: toolName, tools }: { readonly name: string; readonly tools: ToolSet },
): Promise<PlanCall | undefined> {
  const action = call.tool.slice(toolName.length + 1);
  const tool = toolNamed(toolName, tools);
  if (tool === undefined || action === "") return undefined;
  const takesAction = parametersIn(await jsonSchemaOf(tool, toolName)).some(
    ({ name }) => name === "action",
  );
  return takesAction
    ? { ...call, tool: toolName, parameters: { action, ...call.parameters } }
    : undefined;
}

function toolNamed(name: string, tools: ToolSet): ToolSet[string] | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}
