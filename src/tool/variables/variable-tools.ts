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
  /** Without it nothing can be exported, and `export_variable` is not in the list. */
  readonly files?: FileWriter;
  /** What one search may do; see `SearchOptions`. */
  readonly maxSearchWork?: number;
}

/** What the runtime's own tools are called, `run_code` included: no server's tool may take one's place. */
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

/** The tools with which a model looks into variables and writes them. */
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
