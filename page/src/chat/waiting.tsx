import type { UIMessage } from "ai";
import { type ReactNode, useEffect, useMemo } from "react";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { Button } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { plural } from "../words.ts";
import { askingIn } from "./tool-part.ts";
import "./approval-banner.css";
import "./waiting-count.css";

/** The open approvals of a conversation. */
export interface Waiting {
  /** Number of calls of the newest answer. */
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
  const calls = askingIn(messages.at(-1)).length;
  const plans = useMemo(() => {
    // The newest event of a run shows whether it waits.
    const own = events.filter(({ type, run }) => run !== undefined && type.startsWith("run."));
    const runs = new Map(own.map((event) => [event.run, event]));
    const waiting = [...runs.values()].filter(({ type }) => type === "run.waiting");
    return waiting.flatMap(({ plan = [] }) => plan);
  }, [events]);
  const count = calls + plans.length;
  useEffect(() => {
    onWaiting(count);
    return () => onWaiting(0);
  }, [count, onWaiting]);
  return { calls, plans, count };
}

function approvalsInWords(count: number): string {
  return `${plural(count, "approval")} needed`;
}

/** Number of open approvals. Renders nothing for 0. */
export function WaitingCount({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <span className="waiting-count" title={approvalsInWords(count)}>
      <span aria-hidden="true">{count}</span>
      <span className="unseen">{approvalsInWords(count)}</span>
    </span>
  );
}

/** Announces an open approval, with a link to it. */
export function ApprovalBanner({ waiting }: { readonly waiting: Waiting }): ReactNode {
  const { open } = useConversation();
  const { calls, plans, count } = waiting;
  const show = () => {
    if (calls === 0) return open({ tab: "plans", plan: plans[0] });
    const form = document.querySelector<HTMLElement>(".approval");
    form?.scrollIntoView({ block: "center" });
    form?.querySelector<HTMLElement>("button[type=submit]")?.focus({ preventScroll: true });
  };
  return (
    <div className="approval-banner" role="status">
      {count > 0 && (
        <>
          <span>{approvalsInWords(count)}</span>
          <Button onClick={show}>Show it</Button>
        </>
      )}
    </div>
  );
}
