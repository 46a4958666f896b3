import { useId, useState } from "react";
import type { VariableDiff } from "../../../src/tool/policy.ts";
import { ApprovalDiffs } from "./approval-diffs.tsx";
import { ApprovalSizes, type Sizes } from "./approval-sizes.tsx";
import type { ToolPart } from "./tool-part.ts";

export type Decide = (decision: {
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string;
}) => void;

interface ApprovalFormProps {
  readonly part: Extract<ToolPart, { state: "approval-requested" }>;
  readonly decide: Decide;
}

/** A call that needs approval: its input with values, and buttons to approve or deny. */
export function ApprovalForm({ part, decide }: ApprovalFormProps) {
  const [reason, setReason] = useState("");
  const field = useId();
  const { id, descriptor } = part.approval;
  const asked = requestIn(descriptor);
  const answer = (approved: boolean) =>
    decide({ id, approved, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) });
  return (
    <form
      className="approval"
      onSubmit={(event) => {
        event.preventDefault();
        answer(true);
      }}
    >
      <p className="approval-why">{asked.reason}</p>
      <h2 className="tool-title">What would run</h2>
      <pre className="tool-json" role="group" tabIndex={0} aria-label="Input with its values">
        {asked.input ?? JSON.stringify(part.input, null, 2)}
      </pre>
      <ApprovalSizes input={part.input} sizes={asked.sizes} />
      <ApprovalDiffs diffs={asked.diffs} />
      <label className="approval-label" htmlFor={field}>
        Reason (optional)
      </label>
      <input
        id={field}
        className="field"
        value={reason}
        maxLength={1_000}
        onChange={({ target }) => setReason(target.value)}
      />
      <div className="approval-buttons">
        <button type="submit" className="button button-main">
          Approve
        </button>
        <button type="button" className="button" onClick={() => answer(false)}>
          Deny
        </button>
      </div>
    </form>
  );
}

interface Asked {
  readonly reason: string;
  readonly input?: string;
  readonly sizes: Sizes;
  readonly diffs: readonly VariableDiff[];
}

function requestIn(descriptor: unknown): Asked {
  const { reason, input, sizes, diffs } = { ...(descriptor as Readonly<Record<string, unknown>>) };
  return {
    reason: typeof reason === "string" ? reason : "This call runs when you approve it.",
    ...(typeof input === "string" ? { input: pretty(input) } : {}),
    // The server sends what the types declare.
    sizes: Array.isArray(sizes) ? (sizes as Sizes) : [],
    diffs: Array.isArray(diffs) ? (diffs as readonly VariableDiff[]) : [],
  };
}

/** A long text is clipped, so it may not be JSON. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
