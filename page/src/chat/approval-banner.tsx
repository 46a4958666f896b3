import type { ReactNode } from "react";
import { useConversation } from "../conversation-context.ts";
import type { Waiting } from "./use-waiting.ts";
import { approvalsInWords } from "./waiting-count.tsx";
import "./approval-banner.css";

/** Announces an open approval, with a link to it. */
export function ApprovalBanner({ waiting }: { readonly waiting: Waiting }): ReactNode {
  const { openPlan } = useConversation();
  const { calls, plans, count } = waiting;
  const [plan] = plans;
  const show = () => {
    if (calls === 0 && plan !== undefined) return openPlan(plan);
    const form = document.querySelector<HTMLElement>(".approval");
    form?.scrollIntoView({ block: "center" });
    form?.querySelector<HTMLElement>("button[type=submit]")?.focus({ preventScroll: true });
  };
  return (
    <div className="approval-banner" role="status">
      {count > 0 && (
        <>
          <span>{approvalsInWords(count)}</span>
          <button type="button" className="button" onClick={show}>
            Show it
          </button>
        </>
      )}
    </div>
  );
}
