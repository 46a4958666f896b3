import { referencesIn } from "../reference/references-in.ts";
import type { Plan, PlanCall } from "./plan.ts";
import { type RunRecord, stateIn } from "./run-record.ts";
import { GATES } from "./run-names.ts";

/** The gates that a call reads, and which have to be opened before it starts. */
export function gatesIn({ parameters }: PlanCall, { syntaxes }: Plan): readonly string[] {
  return referencesIn(parameters, syntaxes).flatMap(({ references }) =>
    references.flatMap(({ name, path: [first] }) =>
      name === GATES && first !== undefined && "key" in first ? [first.key] : [],
    ),
  );
}

/** The gates that calls of the run wait for, and that nobody has decided on. */
export function openGates(plan: Plan, record: RunRecord): ReadonlySet<string> {
  const gates = plan.calls.flatMap((call) => {
    const { status, gate } = stateIn(record, call.id);
    if (status !== "waiting") return [];
    return gate === undefined ? gatesIn(call, plan) : [gate, ...gatesIn(call, plan)];
  });
  return new Set(gates.filter((gate) => !Object.hasOwn(record.gates, gate)));
}

/** Is there a call left that waits for this gate, and has nobody decided on it? */
export function waitsFor(plan: Plan, record: RunRecord, gate: string): boolean {
  return openGates(plan, record).has(gate);
}
