import type { Tool } from "ai";
import {
  type VariableToolName,
  variableTools as sdkTools,
  type VariableToolsOptions,
} from "../agent/variable-tools.ts";
import type { Json } from "../value/json.ts";

/**
 * Returns the tools of `byref/agent` with which a model looks into its variables, for Mastra's `prepareStep`:
 * tools that it adds to a step are called as they are. Mastra passes a result to `toModelOutput` by itself.
 */
export function variableTools<Name extends VariableToolName = VariableToolName>(
  options: VariableToolsOptions<Name>,
): Record<Name, Tool<Json, Json>> {
  const entries = Object.entries<Tool<Json, Json>>(sdkTools(options)).map(([name, tool]) => {
    const { toModelOutput } = tool;
    if (toModelOutput === undefined) return [name, tool];
    const shown = (output: Json) => toModelOutput({ toolCallId: "", input: null, output });
    return [name, { ...tool, toModelOutput: shown }];
  });
  return Object.fromEntries(entries) as Record<Name, Tool<Json, Json>>;
}
