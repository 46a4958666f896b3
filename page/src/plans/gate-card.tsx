import { useState } from "react";
import { JsonTree } from "../variables/json-tree.tsx";
import type { Gate, PlannedCall } from "./call-state.ts";
import { MarkLabel } from "./mark.tsx";

interface GateCardProps {
  readonly gate: Gate;
  /** The plan's calls, with their inputs. */
  readonly calls: readonly PlannedCall[];
  readonly isBusy: boolean;
  readonly onDecide: (gate: Gate, decision: { approved: boolean; reason?: string }) => void;
}

/** An open gate with the calls behind it. */
export function GateCard({ gate, calls, isBusy, onDecide }: GateCardProps) {
  const [reason, setReason] = useState("");
  const decide = (approved: boolean) => {
    const said = reason.trim();
    onDecide(gate, { approved, ...(said === "" ? {} : { reason: said }) });
  };
  return (
    <section className="plans-gate" aria-label={`Gate ${gate.name}`}>
      <header>
        <h3>{gate.name}</h3>
        <MarkLabel mark="asks" />
      </header>
      {gate.calls.map(({ _id, _tool, reason: why, asked }) => (
        <div key={_id} className="plans-waits">
          <p>
            <strong>{_tool}</strong> <span className="plans-quiet">{_id}</span>
          </p>
          {why === undefined ? null : <p className="plans-quiet">{why}</p>}
          {asked === undefined ? (
            <JsonTree value={calls.find((call) => call._id === _id)?.input ?? null} />
          ) : (
            <pre className="plans-asked" tabIndex={0}>
              {asked}
            </pre>
          )}
        </div>
      ))}
      <input
        className="plans-field"
        aria-label="Reason"
        placeholder="Reason (optional)"
        value={reason}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
      />
      <div className="variables-buttons">
        <button
          type="button"
          className="button button-main"
          disabled={isBusy}
          onClick={() => decide(true)}
        >
          Approve
        </button>
        <button type="button" className="button" disabled={isBusy} onClick={() => decide(false)}>
          Deny
        </button>
      </div>
    </section>
  );
}
