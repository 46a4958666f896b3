import { ByrefError } from "../../../../src/errors.ts";
import { nothingWaits, openGates } from "../plan/gates.ts";
import type { RunRecord } from "../plan/plan-record.ts";
import type { RunDecisions } from "../run/plan-turn.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { json } from "../../../../src/internal.ts";
import type { TurnRequest } from "../../../../src/internal-edge.ts";

/**
 * The decisions in a post on gates that a run waits for; undefined if there are none. Throws `conflict` if
 * several runs match and the post names none, and `bad_request` for decisions on several things.
 */
export function decidedGates(
  plans: PlanStore,
  { approvals = [], run }: TurnRequest,
): ({ readonly record: RunRecord } & Pick<RunDecisions, "decisions">) | undefined {
  // Runs and plans are large: one of each is in memory at a time.
  const open = Array.from(plans.openRuns(), (record): OpenRun => {
    const { plan } = plans.get(record.plan) ?? {};
    const waitsFor = plan === undefined ? new Set<string>() : openGates(plan, record);
    return { id: record.id, waitsFor, decided: new Set(Object.keys(record.gates)) };
  });
  const decided = approvals.flatMap(({ approvalId: gate, approved, reason }) => {
    const id = runFor(open, gate, run);
    const decision = { approved, ...json.compact({ reason }) };
    return id === undefined ? [] : [{ id, decision: [gate, decision] as const }];
  });
  const [first] = decided;
  const record = first === undefined ? undefined : plans.run(first.id)?.record;
  if (record === undefined) return undefined;
  if (approvals.some(({ input, patch }) => (input ?? patch) !== undefined)) {
    const message = "A gate of a plan takes no input: propose a plan with other parameters.";
    throw new ByrefError("bad_request", message);
  }
  const ofOne = decided.filter(({ id }) => id === record.id);
  if (ofOne.length < approvals.length) {
    const message = "The decisions are for several runs: send one request for each.";
    throw new ByrefError("bad_request", message);
  }
  return { record, decisions: ofOne.map(({ decision }) => decision) };
}

interface OpenRun {
  readonly id: string;
  readonly waitsFor: ReadonlySet<string>;
  readonly decided: ReadonlySet<string>;
}

/** The id of the run that waits for this gate; `wanted` selects one of several. */
function runFor(
  open: readonly OpenRun[],
  gate: string,
  wanted: string | undefined,
): string | undefined {
  const waiting = open.flatMap(({ id, waitsFor }) => (waitsFor.has(gate) ? id : []));
  const isDecided = open.some(({ decided }) => decided.has(gate));
  if (waiting.length === 0 && isDecided) throw nothingWaits();
  const meant = waiting.filter((id) => wanted === undefined || id === wanted);
  if (meant.length <= 1) return meant[0];
  const message = `Several runs wait for ${gate}: say which with {"run": …}, one of ${meant.join(", ")}.`;
  throw new ByrefError("conflict", message);
}
