import { getToolName, isToolUIPart } from "ai";
import { ByrefError } from "../errors.ts";
import type { Json } from "../value/json.ts";
import type { History } from "./history/history.ts";
import type { StoredMessage } from "./history/stored-message.ts";

export interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
}

/** The calls of a message that wait for a person, by approval id. */
export function waitingCalls(
  message: Pick<StoredMessage, "parts"> | undefined,
): ReadonlyMap<string, ToolCall> {
  const calls = new Map<string, ToolCall>();
  for (const part of message?.parts ?? []) {
    if (!isToolUIPart(part) || part.state !== "approval-requested") continue;
    const { toolCallId, approval, input } = part;
    // The SDK made the input by parsing JSON.
    calls.set(approval.id, { toolName: getToolName(part), toolCallId, input: input as Json });
  }
  return calls;
}

/** A person's decision. */
export interface ApprovalResponse {
  /** Who decided, as the authenticator says. */
  readonly principal?: string;
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** A decision and its call. */
export interface DecidedCall {
  readonly approval: ApprovalResponse;
  readonly call: ToolCall;
}

/** The message with its waiting calls denied for this reason, and those that were to be prepared after them skipped. */
export function withoutWaiting(message: StoredMessage, reason: string): StoredMessage {
  const { waiting: _waiting, deferred = {}, agent: _agent, ...kept } = message;
  const parts = message.parts.map((part): StoredMessage["parts"][number] => {
    if (!isToolUIPart(part)) return part;
    if (part.state === "input-available" && Object.hasOwn(deferred, part.toolCallId)) {
      return { ...part, state: "output-error", errorText: `skipped: ${reason}` };
    }
    if (part.state !== "approval-requested" && part.state !== "approval-responded") return part;
    const approval = { ...part.approval, approved: false, reason } as const;
    return { ...part, state: "output-denied", approval };
  });
  return { ...kept, parts };
}

/**
 * The decisions on calls that wait, the first on each. Ignores decisions on other calls. If none is left, throws
 * `approval_not_found`, which says why a call was denied.
 */
export function decidedIn(
  history: Pick<History, "newest" | "withApproval"> | undefined,
  approvals: readonly ApprovalResponse[],
): readonly DecidedCall[] {
  const waiting = new Map(waitingCalls(history?.newest()));
  const decided = approvals.flatMap((approval) => {
    const call = waiting.get(approval.approvalId);
    return waiting.delete(approval.approvalId) && call ? [{ approval, call }] : [];
  });
  if (decided.length > 0) return decided;
  for (const { approvalId } of approvals)
    requireOpen(history?.withApproval(approvalId), approvalId);
  throw new ByrefError("approval_not_found", "No call is waiting for this approval any longer.");
}

/** Throws `approval_not_found`. */
function requireOpen(message: StoredMessage | undefined, approvalId: string): void {
  for (const part of message?.parts ?? []) {
    if (!isToolUIPart(part) || part.state !== "output-denied") continue;
    if (part.approval.id !== approvalId) continue;
    const why = part.approval.reason ?? "The call was denied.";
    throw new ByrefError(
      "approval_not_found",
      `This call did not run, and waits no longer. ${why}`,
    );
  }
}
