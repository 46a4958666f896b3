import type { ToolSet } from "ai";
import { variableTools, toolOf } from "../../../adapters/src/agent/variable-tools.ts";
import { withToolVariables } from "../../../adapters/src/agent/with-tool-variables.ts";
import { MemoryStore } from "../../../../src/store/memory-store.ts";
import { codeTool } from "../../../../src/tool/code/code-tool.ts";
import { wrapTool } from "../../../../src/tool/wrap-tool.ts";
import type { WrapOptions } from "../../../../src/tool/wrapped-tool.ts";
import { compact } from "../../../../src/value/json.ts";
import type { World } from "../tasks/task.ts";
import type { Arm, Conversation } from "./arm.ts";
import { playTurn } from "./loop.ts";
import { processSandbox } from "./process-sandbox.ts";

/** Results are variables, with the tools that read and change them. */
const PLAIN_TOOLS = [
  "list_variables",
  "read_variable",
  "search_variable",
  "set_variable",
  "edit_variable",
] as const;

/** `byref/agent`, as an application uses it. */
export const byReference: Arm = {
  name: "reference",
  open: (world) =>
    conversationOf(world, (options) => variableTools({ ...options, only: PLAIN_TOOLS })),
};

/** The arm with references, with `query_variables` and `run_code`. */
export const withCode: Arm = {
  name: "reference, code, SQL",
  open: (world) =>
    conversationOf(world, (options) => ({
      ...variableTools({ ...options, only: [...PLAIN_TOOLS, "query_variables"] }),
      run_code: runCode(world, options),
    })),
};

function conversationOf(world: World, toolsFor: (options: WrapOptions) => ToolSet): Conversation {
  const store = new MemoryStore();
  const { policies, policy } = world;
  const options: WrapOptions = { store, ...compact({ policies, policy }) };
  const own = toolsFor(options);
  const tools = { ...world.tools, ...own };
  return {
    play: (turn) => playTurn(turn, tools, (agent) => withToolVariables(agent, options)),
    store,
    readers: Object.keys(own),
  };
}

function runCode(world: World, options: WrapOptions): ToolSet[string] {
  const wrapped = Promise.all(
    Object.entries(world.tools).map(([name, tool]) => wrapTool(name, tool, options)),
  );
  let tools: ReadonlyMap<string, Awaited<typeof wrapped>[number]> = new Map();
  void wrapped.then((all) => (tools = new Map(all.map((tool) => [tool.name, tool]))));
  return toolOf(codeTool({ sandbox: processSandbox, tools: () => tools }), options);
}
