import type { FlexibleSchema } from "ai";
import {
  type VariableToolName,
  variableTools as sdkTools,
  type VariableToolsOptions,
} from "../agent/variable-tools.ts";
import type { AnyTool } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";

/** A tool of the AI SDK as Mastra takes it: its description is a text, and it has an id. */
export interface MastraVariableTool {
  id: string;
  description: string;
  inputSchema: FlexibleSchema<Json>;
  execute: (...call: never[]) => unknown;
}

/**
 * Returns the tools of `byref/agent` with which a model looks into its variables, for the tools of an agent of
 * Mastra. Mastra passes a result to `toModelOutput` by itself.
 */
export function variableTools<Name extends VariableToolName = VariableToolName>(
  options: VariableToolsOptions<Name>,
): Record<Name, MastraVariableTool> {
  const entries = Object.entries<AnyTool>(sdkTools(options)).map(([id, tool]) => {
    const { toModelOutput } = tool;
    if (toModelOutput === undefined) return [id, { ...tool, id }];
    const shown = (output: Json) => toModelOutput({ toolCallId: "", input: null, output });
    return [id, { ...tool, id, toModelOutput: shown }];
  });
  return Object.fromEntries(entries) as Record<Name, MastraVariableTool>;
}
