import type { InputNow } from "./input-now.ts";
import type { CallState, GateDecision } from "./plan-record.ts";
import { deniedReason } from "./readiness.ts";
import type { Ready } from "../../../../src/internal-tool.ts";

interface ApprovalOptions {
  /** The run and the call, as the gate names them. */
  readonly id: string;
  readonly ready: Ready;
  readonly state: CallState;
  readonly decisionOn: (gate: string) => GateDecision | undefined;
  readonly inputNow: () => Promise<InputNow>;
}

/**
 * Returns the state in which a call waits for its own approval, or is skipped; undefined if it may run. Approving
 * the plan covers the plan and its gates. A call that needs approval by policy, and one whose input has changed
 * since a person saw it at a gate, has an additional gate, which names the run, the call and the input: the input
 * that the person sees and approves is the input that runs.
 */
export async function approvalOf(options: ApprovalOptions): Promise<CallState | undefined> {
  const { id, ready, state, decisionOn, inputNow } = options;
  const { approval, pin } = ready;
  // A denial is final, also if the input changes.
  const denied = state.gate === undefined ? undefined : decisionOn(state.gate);
  if (state.gate !== undefined && denied?.approved === false) {
    return { status: "skipped", reason: deniedReason(state.gate, denied) };
  }
  if (approval === undefined && state.shown === undefined) return undefined;
  const { text: asked, digest: shown } = await inputNow();
  const gate = `${id}.${pin}`;
  if (decisionOn(gate)?.approved === true) return undefined;
  const hasChanged = state.shown !== undefined && state.shown !== shown;
  const reason = approval?.reason ?? (hasChanged ? CHANGED : undefined);
  return reason === undefined ? undefined : { status: "waiting", gate, reason, asked, shown };
}

const CHANGED = "Its input has changed since it was shown for approval.";
