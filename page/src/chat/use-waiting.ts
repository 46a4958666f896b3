import type { UIMessage } from "ai";
import { useEffect, useMemo } from "react";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { isToolPart } from "./tool-part.ts";

/** The open approvals of a conversation. */
export interface Waiting {
  /** Calls of the newest answer. */
  readonly calls: number;
  /** The plans of the runs that wait. */
  readonly plans: readonly string[];
  readonly count: number;
}

/** `onWaiting` receives the count, and 0 when the conversation is left. */
export function useWaiting(
  messages: readonly UIMessage[],
  events: readonly ConversationEvent[],
  onWaiting: (count: number) => void,
): Waiting {
  const calls = waitingCalls(messages.at(-1));
  const plans = useMemo(() => waitingPlans(events), [events]);
  const count = calls + plans.length;
  useEffect(() => {
    onWaiting(count);
    return () => onWaiting(0);
  }, [count, onWaiting]);
  return useMemo(() => ({ calls, plans, count }), [calls, plans, count]);
}

function waitingCalls(message: UIMessage | undefined): number {
  const parts = message?.parts ?? [];
  return parts.filter((part) => isToolPart(part) && part.state === "approval-requested").length;
}

/** The newest event of a run shows whether it waits. */
function waitingPlans(events: readonly ConversationEvent[]): readonly string[] {
  const runs = new Map<string, ConversationEvent>();
  for (const event of events) {
    if (event.run !== undefined && event.type.startsWith("run.")) runs.set(event.run, event);
  }
  return [...runs.values()].flatMap(({ type, plan }) =>
    type === "run.waiting" && plan !== undefined ? [plan] : [],
  );
}
