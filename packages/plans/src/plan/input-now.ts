import { GATES } from "./run-names.ts";
import { approvalRequest, type PlanCall, toolInputs } from "../../../../src/internal-tool.ts";
import type { LookupWork } from "../../../../src/internal.ts";
import { type Lookup, resolveReferences, type SyntaxName } from "../../../../src/references.ts";

interface InputNowOptions {
  readonly syntaxes: readonly SyntaxName[];
  /** Must not return secrets, which stay as they are written. */
  readonly lookup: Lookup;
  readonly work: LookupWork;
}

/** The input with which a call would run now. */
export interface InputNow {
  /** The input as shortened text, shown for approval. */
  readonly text: string;
  /** A digest of all of it. */
  readonly digest: string;
}

export async function inputNow(
  { tool, parameters }: PlanCall,
  { syntaxes, lookup: values, work }: InputNowOptions,
): Promise<InputNow> {
  // The call runs only after its gates have been opened.
  const lookup: Lookup = (reference, sharedWork) =>
    reference.name === GATES ? { found: true, value: true } : values(reference, sharedWork);
  const resolved = await resolveReferences(parameters, lookup, { syntaxes, work }).then(
    ({ value }) => value,
    // Errors in references are reported when the call runs.
    () => parameters,
  );
  const about = { tool, input: parameters, resolved, references: [] };
  return { text: approvalRequest(about).input, digest: await toolInputs.digestOf(resolved) };
}
