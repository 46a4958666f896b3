import { ByrefError } from "../errors.ts";
import type { Json } from "../value/json.ts";
import type { StoredMessage } from "./history/stored-message.ts";
import { isToolPart, toolNameOf } from "./history/tool-part.ts";
import type { ToolCall } from "./model/model-try.ts";

/** A call that waits for a person. */
export interface WaitingCall extends ToolCall {
  /** The pin of the input to approve. */
  readonly pin: string;
}

/** The calls of a message that wait for a person, by approval id. */
export function waitingCalls(
  message: Pick<StoredMessage, "parts" | "waiting"> | undefined,
): ReadonlyMap<string, WaitingCall> {
  const calls = new Map<string, WaitingCall>();
  for (const part of message?.parts ?? []) {
    if (!isToolPart(part) || part.state !== "approval-requested") continue;
    const { toolCallId, approval, input } = part;
    const pin = message?.waiting?.[approval.id] ?? "";
    // The SDK made the input by parsing JSON.
    calls.set(approval.id, { toolName: toolNameOf(part), toolCallId, input: input as Json, pin });
  }
  return calls;
}

/** A person's decision. */
export interface ApprovalResponse {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** A decision and its call. */
export interface DecidedCall {
  readonly approval: ApprovalResponse;
  readonly call: WaitingCall;
}

/**
 * The decisions on calls that wait. Ignores decisions on other calls. Throws `approval_not_found` if none is
 * left.
 */
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
  throw new ByrefError("approval_not_found", "No call is waiting for this approval any longer.");
}
