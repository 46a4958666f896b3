import type { RecordEdits } from "../../../src/tool/edit/resolved-edits.ts";
import type { RuntimeTool } from "../../../src/tool/runtime-tool.ts";
import { type QueryToolOptions, queryTool } from "./query-tool.ts";
import { recordEdits } from "./record-edits.ts";

/** The tools' access to queries. */
export interface QueryTools {
  /** `query_variables`. */
  readonly query: RuntimeTool;
  /** Edits of records for `edit_variable`. */
  readonly records: RecordEdits;
}

export function queryTools(options: QueryToolOptions): QueryTools {
  return { query: queryTool(options), records: recordEdits(options) };
}
