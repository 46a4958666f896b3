import type { Tool } from "ai";
import type { QueryDatabases } from "../../../query/src/query-databases.ts";
import { queryTools } from "../../../query/src/query-tools.ts";
import { ownTools, type wraps, type runtimeTools } from "../../../../src/internal-tool.ts";
import { json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import { nodeQueryDatabases } from "./node-query-engine.ts";
import { hasNodeSqlite } from "./node-sql.ts";
import { OwnTool, perStore, VARIABLE_TOOL, wrap } from "./wrap-tools.ts";

export type VariableToolName =
  | "list_variables"
  | "read_variable"
  | "search_variable"
  | "query_variables"
  | "set_variable"
  | "edit_variable"
  | "delete_variable";

/** The store and policy of the calls, as `wrapTools` takes them, and the tools to return. */
export interface VariableToolsOptions<Name extends VariableToolName> extends wraps.WrapOptions {
  /** Default: all. */
  readonly only?: readonly Name[];
  /** For the queries of this store, and of no other. Default: in `node:sqlite`, where there is one. */
  readonly databases?: QueryDatabases;
}

/**
 * Returns the tools with which a model reads and changes its variables, in addition to the tools of `wrapTools`.
 * Sealed values are refused. `query_variables`, and edits of records by a condition, need `node:sqlite` (Node 22.13
 * or newer) or databases: without them the tool is missing.
 */
export function variableTools<Name extends VariableToolName = VariableToolName>(
  options: VariableToolsOptions<Name>,
): Record<Name, Tool<Json, Json>> {
  const { only, databases: given, ...wrap } = options;
  const isChosen = ({ name }: runtimeTools.RuntimeTool) =>
    only?.some((one) => one === name) ?? true;
  const databases = given ?? (hasNodeSqlite() ? databasesOf(wrap.store) : undefined);
  const queries = databases && queryTools({ databases, wrap });
  const own = ownTools.variableTools({ records: queries?.records });
  const tools = (queries === undefined ? own : [...own, queries.query]).filter(isChosen);
  const entries = tools.map((tool) => [tool.name, toolOf(tool, wrap)]);
  // There is a tool of each name, apart from `query_variables` without databases.
  return Object.fromEntries(entries) as Record<Name, Tool<Json, Json>>;
}

/** One set for each store, because tables are known by the names of variables. */
const databasesOf = perStore(nodeQueryDatabases);

function toolOf(tool: runtimeTools.RuntimeTool, options: wraps.WrapOptions): wraps.AnyTool {
  const { name, description, inputSchema } = tool;
  const own = new OwnTool(name, { description, inputSchema } as wraps.AnyTool, options, tool);
  const wrapped = Object.assign(wrap(own, false), { [VARIABLE_TOOL]: true });
  if (tool.toModelOutput === undefined) return wrapped;
  const toModelOutput: Tool<Json, Json>["toModelOutput"] = async (given) =>
    (await own.wrapped).shown.toModelOutput?.(given) ?? {
      type: "json",
      value: json.plainJson(given.output),
    };
  return { ...wrapped, toModelOutput } as wraps.AnyTool;
}
