import { getToolName, isToolUIPart } from "ai";
import { ByrefError, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { byteLength } from "../value/encoding.ts";
import type { Json } from "../value/json.ts";
import { patchJson, type PatchOperation } from "../value/json-patch.ts";
import { charsOf } from "../value/json-text.ts";
import type { History } from "./history/history.ts";
import { changedIn } from "./history/message-parts.ts";
import type { StoredMessage } from "./history/stored-message.ts";

export interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
  /** True if a person wrote the input in place of the model's. */
  readonly isChanged?: boolean;
}

/** A call that waits, with the input that would run. */
interface WaitingCall extends ToolCall {
  readonly descriptor?: unknown;
}

/** The calls of a message that wait for a person, by approval id. */
export function waitingCalls(
  message: Pick<StoredMessage, "parts"> | undefined,
): ReadonlyMap<string, WaitingCall> {
  const calls = new Map<string, WaitingCall>();
  for (const part of message?.parts ?? []) {
    if (!isToolUIPart(part) || part.state !== "approval-requested") continue;
    const { toolCallId, approval } = part;
    const { descriptor } = approval;
    // The SDK made the input by parsing JSON.
    const { input = part.input as Json, resolved } = changedIn(part) ?? {};
    const call = { toolName: getToolName(part), toolCallId, input, descriptor };
    calls.set(approval.id, { ...call, ...(resolved !== undefined && { isChanged: true }) });
  }
  return calls;
}

export interface ApprovalResponse {
  /** Who decided, as the authenticator says. */
  readonly principal?: string;
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
  /** The input to run in place of the one that waits, or the changes to it. */
  readonly input?: Json | undefined;
  readonly patch?: readonly PatchOperation[] | undefined;
  /** The pin of that input when it was approved. Never from a client. */
  readonly pin?: string | undefined;
}

export interface DecidedCall {
  readonly approval: Omit<ApprovalResponse, "patch">;
  readonly call: WaitingCall;
}

/** The message with its waiting calls denied for this reason, and those that were to be prepared after them skipped. */
export function withoutWaiting(message: StoredMessage, reason: string): StoredMessage {
  const { waiting: _waiting, agent: _agent, ...kept } = message;
  const parts = message.parts.map((part): StoredMessage["parts"][number] => {
    if (!isToolUIPart(part)) return part;
    if (part.state === "input-available" && part.providerExecuted !== true) {
      return { ...part, state: "output-error", errorText: `skipped: ${reason}` };
    }
    if (part.state !== "approval-requested" && part.state !== "approval-responded") return part;
    const approval = { ...part.approval, approved: false, reason } as const;
    return { ...part, state: "output-denied", approval };
  });
  return { ...kept, parts };
}

/**
 * The decisions on calls that wait, the first on each. Ignores decisions on other calls. Throws `approval_not_found` if
 * none is left, and the errors of a patch that does not apply.
 */
export function decidedIn(
  history: Pick<History, "newest"> | undefined,
  approvals: readonly ApprovalResponse[],
): readonly DecidedCall[] {
  const waiting = new Map(waitingCalls(history?.newest()));
  const decided = approvals.flatMap((approval) => {
    const call = waiting.get(approval.approvalId);
    if (!waiting.delete(approval.approvalId) || call === undefined) return [];
    const { patch, ...decision } = approval;
    if (patch === undefined) return [{ approval: decision, call }];
    const check = (after: Json) => requireShort(charsOf(after, limits.maxRecordBytes));
    const { input: before = call.input } = approval;
    const input = patchJson(before, patch, { spend: () => undefined, check });
    return [{ approval: { ...decision, input }, call }];
  });
  requireShort(byteLength(JSON.stringify(decided.map(({ approval: { input = "" } }) => input))));
  if (decided.length > 0) return decided;
  throw new ByrefError(
    "approval_not_found",
    "No call is waiting for this approval any longer: it was decided, or another message was sent.",
  );
}

/** A decision is stored with its input, in one row. */
function requireShort(actual: number): void {
  const advice = "Save a long value as a variable, and name it in the input.";
  requireAtMost("maxRecordBytes", actual, advice);
}
