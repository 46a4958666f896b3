import { ByrefError } from "../../../../src/errors.ts";
import { nothingWaits, openGates } from "../plan/gates.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import type { GateDecision, RunRecord } from "../plan/plan-record.ts";
import { plansOf } from "./plans-of.ts";
import type { ApprovalResponse } from "../../../../src/internal-tool.ts";
import { json } from "../../../../src/internal.ts";
import type { ConversationData, TurnRequest } from "../../../../src/internal-edge.ts";

interface DecidedGates {
  readonly record: RunRecord;
  readonly decisions: readonly (readonly [gate: string, decision: GateDecision])[];
}

/**
 * The decisions in a post on gates that a run waits for; undefined if there are none. Throws `conflict` if
 * several runs match and the post names none, and `bad_request` for decisions on several things.
 */
export function decidedGates(
  data: ConversationData,
  { approvals = [], run }: TurnRequest,
): DecidedGates | undefined {
  const plans = plansOf(data);
  const waiting = waitingRuns(plans);
  const decided = approvals.flatMap((approval) => {
    const id = runFor(waiting, approval.approvalId, run);
    return id === undefined ? [] : [{ id, decision: decisionOf(approval) }];
  });
  const [first] = decided;
  const record = first === undefined ? undefined : plans.run(first.id)?.record;
  if (record === undefined) return undefined;
  if (approvals.some(({ input, patch }) => (input ?? patch) !== undefined)) {
    const message = "A gate of a plan takes no input: propose a plan with other parameters.";
    throw new ByrefError("bad_request", message);
  }
  const isOfOne = decided.every(({ id }) => id === record.id);
  if (!isOfOne || decided.length < approvals.length) {
    const message = "The decisions are for several runs: send one request for each.";
    throw new ByrefError("bad_request", message);
  }
  return { record, decisions: decided.map(({ decision }) => decision) };
}

interface WaitingRun {
  readonly id: string;
  readonly gates: ReadonlySet<string>;
  readonly decided: ReadonlySet<string>;
}

/** Reads each plan with open runs once; one plan and one run are in memory at a time. */
function waitingRuns(plans: PlanStore): readonly WaitingRun[] {
  const ids = new Set(plans.plansOfOpenRuns());
  return [...ids].flatMap((id) => {
    const plan = plans.get(id)?.plan;
    if (plan === undefined) return [];
    return Array.from(plans.openRuns(id), (record) => ({
      id: record.id,
      gates: openGates(plan, record),
      decided: new Set(Object.keys(record.gates)),
    }));
  });
}

/** The id of the run that waits for this gate; `wanted` selects one of several. */
function runFor(
  open: readonly WaitingRun[],
  gate: string,
  wanted: string | undefined,
): string | undefined {
  const waiting = open.flatMap(({ id, gates }) => (gates.has(gate) ? [id] : []));
  if (waiting.length === 0 && open.some(({ decided }) => decided.has(gate))) throw nothingWaits();
  const meant = waiting.filter((id) => wanted === undefined || id === wanted);
  if (meant.length <= 1) return meant[0];
  const ids = meant.join(", ");
  const message = `Several runs wait for ${gate}: say which with {"run": …}, one of ${ids}.`;
  throw new ByrefError("conflict", message);
}

function decisionOf({ approvalId, approved, reason }: ApprovalResponse) {
  const decision = { approved, ...json.compact({ reason }) };
  return [approvalId, decision] as const;
}
