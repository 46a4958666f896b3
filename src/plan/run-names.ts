import * as limits from "../limits.ts";
import type { RunScope } from "../tool/wrapped-tool.ts";
import type { Plan } from "./plan.ts";

/** The name whose references are gates that people open: `†approvals.<name>`. */
export const GATES = "approvals";

/** What every run has for itself, and no call names as it likes. */
export const RESERVED_NAMES: readonly string[] = ["input", "state", GATES];

/** What the name stands for in this run: its own input and state, and what else lives in it alone. */
export function nameInRun(run: string, name: string, runNames: readonly string[]): string {
  if (!RESERVED_NAMES.includes(name) && !runNames.includes(name)) return name;
  const own = `${name}_${run}`;
  return own.length <= limits.maxNameChars ? own : `${shortName(name, runNames)}_${run}`;
}

/** For one that leaves no room for the run's id. No name that is found for a result begins like it. */
function shortName(name: string, runNames: readonly string[]): string {
  let short = `_${runNames.indexOf(name)}`;
  while (runNames.includes(short)) short = `_${short}`;
  return short;
}

/** The names of a run, for its calls. */
export function scopeOfRun(run: string, { runNames, order }: Pick<Plan, "runNames" | "order">) {
  return {
    run,
    names: runNames,
    // What nobody reads by a name that was written down is of no use to anybody else.
    ownsResults: order === "written",
    nameOf: (name) => nameInRun(run, name, runNames),
  } satisfies RunScope;
}

/** All variables that a run may have of its own. */
export function namesOfRun(run: string, runNames: readonly string[]): readonly string[] {
  return [...RESERVED_NAMES, ...runNames].map((name) => nameInRun(run, name, runNames));
}
