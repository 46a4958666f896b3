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

/** Is there a call left that waits for this gate, and has nobody decided on it? */
export function waitsFor(plan: Plan, record: RunRecord, gate: string): boolean {
  if (Object.hasOwn(record.gates, gate)) return false;
  return plan.calls.some((call) => {
    const { status, gate: asked } = stateIn(record, call.id);
    return status === "waiting" && (asked === gate || gatesIn(call, plan).includes(gate));
  });
}
