import * as limits from "../../../../src/limits.ts";
import { json, variableNames, type stores } from "../../../../src/internal.ts";
import type { Plan, wraps } from "../../../../src/internal-tool.ts";

/** The name of the gates that people open: `†approvals.<name>`. */
export const GATES = "approvals";

/** The results of a run, which are merged into the conversation's variable of this name. */
export const STATE = "state";

/** Names that every run reserves. Calls cannot use them freely. */
export const RESERVED_NAMES: readonly string[] = ["input", STATE, GATES];

/** The variable behind a name in a run. The run has its own input, state and further names. */
export function nameInRun(run: string, name: string, runNames: readonly string[]): string {
  if (!RESERVED_NAMES.includes(name) && !runNames.includes(name)) return name;
  const own = `${name}_${run}`;
  return own.length <= limits.maxNameChars ? own : `${shortName(name, runNames)}_${run}`;
}

/** Returns a name for one that is too long to add the run's id. Generated result names never begin like it. */
function shortName(name: string, runNames: readonly string[]): string {
  let short = `_${runNames.indexOf(name)}`;
  while (runNames.includes(short)) short = `_${short}`;
  return short;
}

interface NamedPlan extends Pick<wraps.RunScope, "inherits"> {
  readonly plan: Pick<Plan, "runNames" | "order">;
}

export function scopeOfRun(run: string, { plan: { runNames, order }, inherits }: NamedPlan) {
  return {
    run,
    names: runNames,
    // No later call can refer to such a result by a written name, so it is visible to the run alone.
    ownsResults: order === "written",
    nameOf: (name) => nameInRun(run, name, runNames),
    ...json.compact({ inherits }),
  } satisfies wraps.RunScope;
}

export function namesOfRun(run: string, runNames: readonly string[]): readonly string[] {
  return [...RESERVED_NAMES, ...runNames].map((name) => nameInRun(run, name, runNames));
}

/**
 * The name of the variable that keeps the result of a call: `<plan>_<call>`, with a number if another run has
 * one. A repetition of the call in the same run has the same name.
 */
export function keptName(run: string, { name = "plan" }: Pick<Plan, "name">, call: string) {
  const base = variableNames.automaticBase(`${name}_${call}`);
  return { base, numbered: false, inputDigest: `${run}/${call}` } satisfies stores.AutomaticName;
}
