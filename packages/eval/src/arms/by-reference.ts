import type { ToolSet } from "ai";
import { variableTools } from "../../../adapters/src/agent/variable-tools.ts";
import { withToolVariables } from "../../../adapters/src/agent/with-tool-variables.ts";
import { MemoryStore } from "../../../../src/internal.ts";
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
  open: (tools) => open(tools, PLAIN_TOOLS),
};

/** The arm with references, with `query_variables`. */
export const withSql: Arm = {
  name: "reference, SQL",
  open: (tools) => open(tools, [...PLAIN_TOOLS, "query_variables"]),
};

function open(
  toolsOfTask: ToolSet,
  only: NonNullable<Parameters<typeof variableTools>[0]["only"]>,
): Conversation {
  const store = new MemoryStore();
  const own = variableTools({ store, only });
  const tools = { ...toolsOfTask, ...own };
  return {
    play: (turn) => playTurn(turn, tools, (agent) => withToolVariables(agent, { store })),
    store,
    readers: Object.keys(own),
  };
}
