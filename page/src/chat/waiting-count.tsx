import type { ReactNode } from "react";
import { plural } from "../words.ts";
import "./waiting-count.css";

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

export function approvalsInWords(count: number): string {
  return `${plural(count, "approval")} needed`;
}
