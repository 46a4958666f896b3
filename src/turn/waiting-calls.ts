import { isToolUIPart, getToolName } from "ai";
import { ByrefError } from "../errors.ts";
import type { Json } from "../value/json.ts";
import type { StoredMessage } from "./history/history.ts";
import type { ToolCall } from "./model/model-try.ts";

/** A call that waits for a person. */
export interface WaitingCall extends ToolCall {
  /** Of the input that it waits with. */
  readonly pin: string;
}

/** The calls of a message that wait for a person, by approval. */
export function waitingCalls(
  message: Pick<StoredMessage, "parts" | "waiting"> | undefined,
): ReadonlyMap<string, WaitingCall> {
  const calls = new Map<string, WaitingCall>();
  for (const part of message?.parts ?? []) {
    if (!isToolUIPart(part) || part.state !== "approval-requested") continue;
    const { toolCallId, approval, input } = part;
    const pin = message?.waiting?.[approval.id] ?? "";
    // The SDK made the input by parsing JSON.
    calls.set(approval.id, { toolName: getToolName(part), toolCallId, input: input as Json, pin });
  }
  return calls;
}

/** What a person has decided. */
export interface ApprovalResponse {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** A decision with the call that it is about. */
export interface DecidedCall {
  readonly approval: ApprovalResponse;
  readonly call: WaitingCall;
}

/** The decisions on calls that wait; the rest is about calls that do not. Throws `approval_not_found`. */
export function decidedIn(
  message: StoredMessage | undefined,
  approvals: readonly ApprovalResponse[],
): readonly DecidedCall[] {
  const waiting = waitingCalls(message);
  const decided = approvals.flatMap((approval) => {
    const call = waiting.get(approval.approvalId);
    return call === undefined ? [] : [{ approval, call }];
  });
  if (decided.length > 0) return decided;
  throw new ByrefError("approval_not_found", "No call waits for this approval any more.");
}
