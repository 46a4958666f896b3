import { isToolUIPart } from "ai";
import type { StoredMessage } from "../../turn/history/history.ts";
import type { TurnHead } from "../../turn/log/journal.ts";
import { cancelRun } from "../../turn/plans/plan-turn.ts";
import { spentBefore } from "../../turn/spend/spend.ts";
import type { ConversationData } from "../conversation-data.ts";
import { plansOf } from "../plans/plans-of.ts";

/**
 * A copy has no pending approvals: the original may still have them, and one request could be approved twice.
 * The calls that waited are denied in the copy, its waiting runs are cancelled, and both say why.
 */
const COPIED =
  "Cancelled, because this conversation is a copy and the original may still run it. Ask again to run it here.";

/** The message without calls that wait. */
export function withoutApprovals(message: StoredMessage): StoredMessage {
  const { waiting: _waiting, agent: _agent, ...kept } = message;
  const parts = message.parts.map((part): StoredMessage["parts"][number] => {
    if (!isToolUIPart(part)) return part;
    if (part.state !== "approval-requested" && part.state !== "approval-responded") return part;
    const approval = { ...part.approval, approved: false, reason: COPIED } as const;
    return { ...part, state: "output-denied", approval };
  });
  return { ...kept, parts };
}

/** The head of a turn that no longer waits. What it spent still counts for the conversation. */
export function withoutWaiting(head: TurnHead): TurnHead {
  const { needs: _needs, counts: _counts, paused: _paused, ...kept } = head;
  return { ...kept, spent: spentBefore(head) };
}

/** Cancels the runs that wait for a person. Their result is what they have produced so far. */
export async function cancelWaitingRuns(data: ConversationData): Promise<void> {
  const { store, journal, events } = data;
  const plans = plansOf(data);
  if (!plans.isUsed) return;
  for (const run of plans.openRuns()) {
    const { id, plan } = run;
    await cancelRun({ plans, store, journal }, { ...run, error: COPIED }, COPIED);
    events.add({ type: "run.cancelled", run: id, plan });
    // The plan itself may run again, as after any cancelled run.
    if (plans.countOpen(plan) === 0 && plans.statusOf(plan) === "running") {
      plans.setStatus(plan, "approved");
    }
  }
  events.flush();
}
