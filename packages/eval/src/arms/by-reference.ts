import type { ToolSet } from "ai";
import { variableTools } from "../../../adapters/src/agent/variable-tools.ts";
import { withToolVariables } from "../../../adapters/src/agent/with-tool-variables.ts";
import { MemoryStore } from "../../../../src/store/memory-store.ts";
import type { WrapOptions } from "../../../../src/tool/wrapped-tool.ts";
import { compact } from "../../../../src/value/json.ts";
import type { World } from "../tasks/task.ts";
import type { Arm, Conversation } from "./arm.ts";
import { playTurn } from "./loop.ts";

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

/** The arm with references, with `query_variables`. */
export const withSql: Arm = {
  name: "reference, SQL",
  open: (world) =>
    conversationOf(world, (options) =>
      variableTools({ ...options, only: [...PLAIN_TOOLS, "query_variables"] }),
    ),
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
