import * as limits from "../limits.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Prepared } from "../tool/wrapped-tool.ts";
import type { Call, OwnTool } from "./prepared-call.ts";

/** What was decided about a call before it runs. */
export interface Decision {
  /** The call that was decided about (`pinOf`); undefined if it could not run. */
  readonly pin: string | undefined;
  /** True if a person has to approve the call. */
  readonly isAsked: boolean;
  /** True if `toolApproval` decided in place of the tool's own `needsApproval`. */
  readonly isOverride: boolean;
}

/**
 * The decisions about the calls of one store, by tool call id. The messages that a client sends back are
 * not evidence: they show neither that a person was asked nor what the references stood for at that time.
 * So a decision is kept here, and counts for one run. It lives as long as the store object: after a
 * restart, or in another process, the person is asked again. The oldest of more than
 * `maxPendingDecisions` are dropped.
 */
export class Decisions {
  readonly #byCall = new Map<string, Decision>();

  /** Those of the store's calls. */
  static of(store: VariableStore): Decisions {
    const decisions = known.get(store) ?? new Decisions();
    known.set(store, decisions);
    return decisions;
  }

  /**
   * Keeps the decision in place of an earlier one; undefined removes that. The SDK decides again about a
   * call that a person has approved: then the decision stays what it was when the person was asked.
   */
  keep(call: Call, decision: Decision | undefined): void {
    if (isApproved(call)) return;
    this.#byCall.delete(call.toolCallId);
    if (decision !== undefined) this.#byCall.set(call.toolCallId, decision);
    const [oldest] = this.#byCall.keys();
    const isFull = this.#byCall.size > limits.maxPendingDecisions;
    if (isFull && oldest !== undefined) this.#byCall.delete(oldest);
  }

  /** The decision about a call that is about to run. It is removed, and counts once. */
  take({ toolCallId }: Call): Decision | undefined {
    const decision = this.#byCall.get(toolCallId);
    this.#byCall.delete(toolCallId);
    return decision;
  }
}

const known = new WeakMap<VariableStore, Decisions>();

interface AboutToRun {
  readonly own: OwnTool;
  readonly call: Call;
  readonly prepared: Prepared;
  readonly pin: string | undefined;
  readonly decision: Decision | undefined;
}

/**
 * The call, or a failure with `approval_needed` if it is not the one that was decided about. If a person
 * has to approve it, that person has to have been asked about this very call, and to have approved it.
 */
export function ifDecided({ own, call, prepared, pin, decision }: AboutToRun): Prepared {
  const { name, isDecided = false } = own;
  if (prepared.kind === "failed") return prepared;
  const wasApproved = isApproved(call);
  const isAsked = prepared.approval !== undefined || wasApproved || decision?.isAsked === true;
  if (isAsked && !(wasApproved && decision?.isAsked === true)) {
    const message = `A person has to approve this call of ${name}, and was not asked about it here. Call it again to ask.`;
    return { kind: "failed", code: "approval_needed", message };
  }
  if (decision === undefined ? !isDecided : decision.pin === pin) return prepared;
  const message = `${name} did not run: its input, or a variable that it refers to, has changed since the call was decided about. Call it again for a new decision.`;
  return { kind: "failed", code: "approval_needed", message };
}

/** True if the SDK runs the call because the last message approves it. */
function isApproved({ toolCallId, messages }: Call): boolean {
  const last = messages.at(-1);
  const approved = new Set<string>();
  for (const part of last?.role === "tool" ? last.content : []) {
    if (part.type === "tool-approval-response" && part.approved) approved.add(part.approvalId);
  }
  if (approved.size === 0) return false;
  return messages.some(
    ({ role, content }) =>
      role === "assistant" &&
      typeof content !== "string" &&
      content.some(
        (part) =>
          part.type === "tool-approval-request" &&
          part.toolCallId === toolCallId &&
          approved.has(part.approvalId),
      ),
  );
}
