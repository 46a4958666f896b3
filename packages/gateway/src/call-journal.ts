import type { Tool } from "@modelcontextprotocol/server";
import { ByrefError } from "../../../src/errors.ts";

/** Records calls that must not run twice, for the time after a crash. */
export interface CallJournal {
  /** Records that a call begins. The returned function records that it has ended. */
  begin(call: string): () => void;
  /** Returns when a process died during the same call, in milliseconds since 1970, and forgets that call. */
  takeCutOff(call: string): number | undefined;
}

/** True unless the server declares its tool as read-only or idempotent. */
export function runsOnce({ annotations }: Pick<Tool, "annotations">): boolean {
  return annotations?.readOnlyHint !== true && annotations?.idempotentHint !== true;
}

/**
 * Runs a call between its records. Throws `outcome_unknown`, once, if the gateway ended while it ran the same
 * call.
 */
export async function journaled<Result>(
  journal: CallJournal | undefined,
  call: { readonly key: string; readonly tool: string },
  run: () => Promise<Result>,
): Promise<Result> {
  const cutOffMs = journal?.takeCutOff(call.key);
  if (cutOffMs !== undefined) {
    throw unknownOutcome(call.tool, `The gateway ended at ${new Date(cutOffMs).toISOString()}`);
  }
  const end = journal?.begin(call.key);
  try {
    return await run();
  } finally {
    end?.();
  }
}

/** The error for a call whose outcome is unknown. */
export function unknownOutcome(tool: string, what: string): ByrefError {
  const message = `${what}, while ${tool} ran with this input: it may have taken effect. Find out first; if it has not, call it again.`;
  return new ByrefError("outcome_unknown", message);
}

/** The server may have acted on the request before it ended. */
export const SENT = { sent: true };

/** True for the error of a request that was sent to a server, which then ended. */
export function wasSent(error: unknown): boolean {
  return error instanceof ByrefError && error.details.sent === true;
}
