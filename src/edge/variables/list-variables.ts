import { type Bound, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { VariableStore } from "../../store/variable-store.ts";

interface PageQuery {
  readonly names?: string | undefined;
  readonly last?: number | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

/** The variables that a query selects: a page, the newest, or those with the names. */
export function pageOf(store: VariableStore, { names, last, after = 0, limit }: PageQuery) {
  const newest = last === undefined ? undefined : Math.min(last, limits.maxItems);
  if (names !== undefined) return namedVariables(store, names, newest);
  return newest === undefined
    ? store.page({ after, limit })
    : { variables: store.list({ last: newest }) };
}

/** The newest `last` of the named variables, and the names that no variable has. */
function namedVariables(store: VariableStore, list: string, last = Infinity) {
  const names = [...new Set(list.split(",").filter((name) => name !== ""))];
  const bound: Bound = ["maxItems", limits.maxItems];
  requireAtMost(bound, names.length, "Ask for fewer names at once.");
  const found = store.list({ names });
  const known = new Set(found.map(({ name }) => name));
  return {
    variables: found.slice(Math.max(found.length - last, 0)),
    missing: names.filter((name) => !known.has(name)),
  };
}
