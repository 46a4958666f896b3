import { jsonSchema } from "ai";
import { variableCapability } from "../../plan/capability/variable-capability.ts";
import { jsonSchemaOf } from "../../tool/tool-input.ts";
import type { RuntimeTool } from "../../tool/runtime-tool.ts";
import { saveTargetIn, splitInput, withTarget } from "../../tool/save-target.ts";
import { wrapRuntimeTools } from "../../tool/wrap-runtime-tool.ts";
import type { Prepared, WrapOptions, WrappedTool } from "../../tool/wrapped-tool.ts";
import { type Agent, isGiven } from "../agent.ts";
import { failed } from "../../tool/policy.ts";

/** The capability `variable`, to be asked for only by agents that call with tags: they expect it. */
export function taggedVariables(agent: Agent): readonly RuntimeTool[] {
  return variableCapability.filter(
    ({ name }) => isGiven(name, agent) && !Object.hasOwn(agent.tools, name),
  );
}

/** The same, with results that go where the call says, as other tools' do. */
export async function wrapTaggedVariables(
  tools: readonly RuntimeTool[],
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = await wrapRuntimeTools(tools, options);
  const taking = await Promise.all(
    Array.from(wrapped, async ([name, tool]) => [name, await withOutput(tool)] as const),
  );
  return new Map(taking);
}

async function withOutput(tool: WrappedTool): Promise<WrappedTool> {
  const schema = withTarget(await jsonSchemaOf(tool.shown, tool.name), false);
  if (schema === undefined) return tool;
  const shown = { ...tool.shown, inputSchema: jsonSchema(schema) };
  const prepare: WrappedTool["prepare"] = async (given, call): Promise<Prepared> => {
    try {
      const { input, target } = splitInput(given);
      const saveTo = target === undefined ? {} : { saveTo: saveTargetIn(target) };
      return await tool.prepare(input, { ...saveTo, ...call });
    } catch (error) {
      return failed(error);
    }
  };
  return { ...tool, shown, prepare };
}
