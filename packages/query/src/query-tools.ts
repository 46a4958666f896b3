import type { QueryTools } from "../../../src/internal-tool.ts";
import { type QueryToolOptions, queryTool } from "./query-tool.ts";
import { recordEdits } from "./record-edits.ts";

export function queryTools(options: QueryToolOptions): QueryTools {
  return { query: queryTool(options), records: recordEdits(options) };
}
