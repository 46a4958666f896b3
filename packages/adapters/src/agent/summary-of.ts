import {
  json,
  type Summarized,
  summaryOf as summaryOfVariables,
  type VariableStore,
} from "../../../../src/internal.ts";
import { toolOutputs } from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";

/** The variables in a summary. Default: all. */
export interface SummaryOptions {
  /** Only the newest ones, up to this number. */
  readonly last?: number;
  /** Only variables with these names. */
  readonly names?: readonly string[];
}

/**
 * Summarizes variables as Markdown for a prompt: type, items, description, time and preview of each, oldest
 * first. Of a sealed variable it shows what a handle shows. An agent with `policies` needs `listingVariables`
 * instead, which also notes that untrusted data was shown.
 */
export function summaryOf(store: VariableStore, { last, names }: SummaryOptions = {}): string {
  const listed = store
    .list()
    .filter(({ name }) => names?.includes(name) ?? true)
    .map(shownOf);
  if (last === undefined) return summaryOfVariables(listed);
  return summaryOfVariables(last > 0 ? listed.slice(-last) : [], last);
}

function shownOf(info: VariableInfo): Summarized {
  const guarded = toolOutputs.guardedView(info);
  if (guarded === undefined) return info;
  const { name, tool, createdAt } = info;
  const { type, count } = guarded;
  return { name, createdAt, ...json.compact({ tool, type, count }) };
}
