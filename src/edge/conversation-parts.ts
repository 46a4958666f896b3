import { waitingCalls } from "../turn/waiting-calls.ts";
import type { ConversationContext } from "./conversation-context.ts";
import type { Plans } from "./plans/plans.ts";
import type { Sockets } from "./sockets/sockets.ts";
import type { Turns } from "./turns/turns.ts";

/** The parts of a conversation that its endpoints use. */
export interface ConversationParts {
  readonly context: ConversationContext;
  readonly turns: Turns;
  readonly sockets: Sockets;
  /** Undefined in an application without plans. */
  readonly plans: Plans | undefined;
}

/** `waiting`: a call or run needs a person's approval. */
export type ConversationStatus = "idle" | "running" | "waiting";

/** Undefined for a conversation that does not exist. */
export function statusOf({
  context: { data, queue },
  plans,
}: ConversationParts): ConversationStatus | undefined {
  if (data === undefined) return undefined;
  if (queue.isRunning) return "running";
  const isWaiting = waitingCalls(data.history.newest()).size > 0;
  return isWaiting || plans?.isWaiting === true ? "waiting" : "idle";
}
