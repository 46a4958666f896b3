import { NoSuchToolError, type ToolCallRepairFunction, type ToolSet } from "ai";
import { noSuchTool } from "../../../../src/internal-tool.ts";

/**
 * Returns a `repairToolCall` that repairs as the given one does. The error of a call of an unknown tool
 * becomes `unknown_tool` with similar names: the model reads it in place of the name of the SDK's class.
 */
export function withUnknownTools(
  repair: ToolCallRepairFunction<ToolSet> | undefined,
): ToolCallRepairFunction<ToolSet> {
  return async (call) => {
    const repaired = (await repair?.(call)) ?? null;
    const { error, toolCall, tools } = call;
    if (repaired === null && NoSuchToolError.isInstance(error)) {
      // The SDK throws this object next, and shows its name and message to the model.
      const message = noSuchTool(toolCall.toolName, Object.keys(tools));
      Object.assign(error, { name: "unknown_tool", message });
    }
    return repaired;
  };
}
