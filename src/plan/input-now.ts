import type { PlanCall } from "./plan.ts";
import { GATES } from "./run-names.ts";
import type { Lookup, LookupWork } from "../reference/lookup.ts";
import { resolveReferences } from "../reference/resolve.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import { approvalRequest } from "../tool/policy.ts";

interface InputNowOptions {
  readonly syntaxes: readonly SyntaxName[];
  /** Must not return secrets, which stay as they are written. */
  readonly lookup: Lookup;
  readonly work: LookupWork;
}

/** Returns the input with which a call would run now, as text for approval, shortened. */
export async function inputNow(
  { tool, parameters }: PlanCall,
  { syntaxes, lookup: values, work }: InputNowOptions,
): Promise<string> {
  // The call runs only after its gates have been opened.
  const lookup: Lookup = (reference, sharedWork) =>
    reference.name === GATES ? { found: true, value: true } : values(reference, sharedWork);
  const resolved = await resolveReferences(parameters, lookup, { syntaxes, work }).then(
    ({ value }) => value,
    // Errors in references are reported when the call runs.
    () => parameters,
  );
  return approvalRequest({ tool, input: parameters, resolved, references: [] }).input;
}
