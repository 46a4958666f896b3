import { ByrefError } from "../../errors.ts";
import { openGates } from "../../plan/gates.ts";
import type { GateDecision, RunRecord } from "../../plan/run-record.ts";
import type { ApprovalResponse } from "../../turn/waiting-calls.ts";
import type { ConversationData } from "../conversation-data.ts";
import { plansOf } from "./plans-of.ts";
import type { TurnRequest } from "../turns/turn-request.ts";

/** What a person has decided of one run. */
interface DecidedGates {
  readonly record: RunRecord;
  readonly decisions: readonly (readonly [gate: string, decision: GateDecision])[];
}

/**
 * The decisions of a post that are on gates which a run waits for; undefined if none is. Throws `conflict`
 * where it is not said which of several runs is meant, and `bad_request` for decisions on several things.
 */
export function decidedGates(
  data: ConversationData,
  { approvals = [], run }: TurnRequest,
): DecidedGates | undefined {
  const waiting = waitingRuns(data);
  const decided = approvals.flatMap((approval) => {
    const record = runFor(waiting, approval.approvalId, run);
    return record === undefined ? [] : [{ record, decision: decisionOf(approval) }];
  });
  const [first] = decided;
  if (first === undefined) return undefined;
  const { record } = first;
  const isOfOne = decided.every((one) => one.record.id === record.id);
  if (!isOfOne || decided.length < approvals.length) {
    const message = "These are not of one run: decide on each in a post of its own.";
    throw new ByrefError("bad_request", message);
  }
  return { record, decisions: decided.map(({ decision }) => decision) };
}

/** An open run and what it waits for. */
interface WaitingRun {
  readonly record: RunRecord;
  readonly gates: ReadonlySet<string>;
}

/** Reads each plan that has open runs once. */
export function waitingRuns(data: ConversationData): readonly WaitingRun[] {
  const plans = plansOf(data);
  const open = plans.openRuns();
  return [...new Set(open.map(({ plan }) => plan))].flatMap((id) => {
    const plan = plans.get(id)?.plan;
    if (plan === undefined) return [];
    const runs = open.filter((record) => record.plan === id);
    return runs.map((record) => ({ record, gates: openGates(plan, record) }));
  });
}

/** The run that waits for this gate; `wanted`: its id, where several do. */
export function runFor(
  open: readonly WaitingRun[],
  gate: string,
  wanted: string | undefined,
): RunRecord | undefined {
  const waiting = open.flatMap(({ record, gates }) => (gates.has(gate) ? [record] : []));
  const isDecided = ({ record }: WaitingRun) => Object.hasOwn(record.gates, gate);
  if (waiting.length === 0 && open.some(isDecided)) throw nothingWaits();
  const meant = waiting.filter(({ id }) => wanted === undefined || id === wanted);
  if (meant.length <= 1) return meant[0];
  const ids = meant.map(({ id }) => id).join(", ");
  const message = `Several runs wait for ${gate}: say which with {"run": …}, one of ${ids}.`;
  throw new ByrefError("conflict", message);
}

export function nothingWaits(): ByrefError {
  return new ByrefError("approval_not_found", "Nothing waits for this approval any more.");
}

function decisionOf({ approvalId, approved, reason }: ApprovalResponse) {
  const decision = { approved, ...(reason === undefined ? {} : { reason }) };
  return [approvalId, decision] as const;
}
