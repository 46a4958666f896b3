import { deleteVariable } from "./delete-variable.ts";
import { exportVariable } from "./export-variable.ts";
import type { FileWriter } from "../files.ts";
import { filterVariable } from "./filter-variable.ts";
import { listVariables } from "./list-variables.ts";
import { readVariable } from "./read-variable.ts";
import type { RuntimeTool } from "../runtime-tool.ts";
import { searchVariable } from "./search-variable.ts";
import { setVariable } from "./set-variable.ts";

export interface VariableToolsOptions {
  /** Required for `export_variable`; without it the tool is not in the list. */
  readonly files?: FileWriter;
  /** Work limit of one search; see `SearchOptions`. */
  readonly maxSearchWork?: number;
}

/** Names of the built-in tools, `run_code` included. A server's tool cannot have one of these names. */
export const runtimeToolNames: readonly string[] = [
  "list_variables",
  "read_variable",
  "search_variable",
  "filter_variable",
  "set_variable",
  "delete_variable",
  "export_variable",
  "run_code",
  "propose_plan",
  "delegate",
];

/** The tools with which a model reads and writes variables. */
export function variableTools(options: VariableToolsOptions = {}): readonly RuntimeTool[] {
  const { files, maxSearchWork } = options;
  const maxWork = maxSearchWork === undefined ? {} : { maxWork: maxSearchWork };
  return [
    listVariables,
    readVariable,
    searchVariable(maxWork),
    filterVariable,
    setVariable,
    deleteVariable,
    ...(files === undefined ? [] : [exportVariable(files)]),
  ];
}
