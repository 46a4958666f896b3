import type { ToolSet } from "ai";
import { jsonSchemaOf } from "../tool/json-schema-of.ts";
import { coerceParameters } from "./coerce-parameters.ts";
import { parametersIn } from "./parameter-schemas.ts";
import type { Plan, PlanCall } from "./plan.ts";

/**
 * A capability workflow with the tools that there are in place of its capabilities, and its attributes with
 * the types that they want. `web` with the action `generate` is the tool `web_generate`, or else `web`, if
 * that takes an `action`. What no tool is meant by stays, and so does a plan of another kind.
 */
export async function withKnownTools(plan: Plan, tools: ToolSet): Promise<Plan> {
  if (plan.format !== "capability-xml") return plan;
  return { ...plan, calls: await Promise.all(plan.calls.map((call) => withTool(call, tools))) };
}

async function withTool(call: PlanCall, tools: ToolSet): Promise<PlanCall> {
  const meant = await meantBy(call, tools);
  const tool = toolNamed(meant.tool, tools);
  if (tool === undefined) return call;
  return { ...meant, parameters: coerceParameters(meant.parameters, await jsonSchemaOf(tool)) };
}

/** Names and actions may have underscores of their own: the longest name of a tool counts. */
async function meantBy(call: PlanCall, tools: ToolSet): Promise<PlanCall> {
  if (toolNamed(call.tool, tools) !== undefined) return call;
  const end = call.tool.length;
  for (let at = call.tool.lastIndexOf("_", end); at > 0; at = call.tool.lastIndexOf("_", at - 1)) {
    const name = call.tool.slice(0, at);
    const action = call.tool.slice(at + 1);
    const tool = toolNamed(name, tools);
    if (tool === undefined || action === "") continue;
    const takesAction = parametersIn(await jsonSchemaOf(tool)).some(
      ({ name }) => name === "action",
    );
    if (takesAction) return { ...call, tool: name, parameters: { action, ...call.parameters } };
  }
  return call;
}

function toolNamed(name: string, tools: ToolSet): ToolSet[string] | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}
