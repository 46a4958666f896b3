import { useState } from "react";
import { usePlans } from "../../../packages/client/src/react.ts";
import type { Session } from "../session.ts";
import { Icon } from "../icon.tsx";
import { Problem } from "../variables/problem.tsx";
import { useNow } from "../variables/use-now.ts";
import { plural } from "../words.ts";
import { ageWords } from "../variables/words.ts";
import { markOfPlan, planName } from "./call-state.ts";
import { MarkLabel } from "./mark.tsx";
import { PlanView } from "./plan-view.tsx";
import "../variables/controls.css";
import "../variables/variable-list.css";
import "../variables/variables.css";
import "./plans.css";

export interface PlansPanelProps {
  readonly session: Session;
  /** Id of the open plan. */
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}

/** The plans of a conversation: the list, or one of them. */
export function PlansPanel(props: PlansPanelProps) {
  // A new key discards the state of the previous conversation.
  return <Panel key={props.session.conversation} {...props} />;
}

function Panel({ session, selected, onSelect }: PlansPanelProps) {
  const [last, setLast] = useState<string>();
  return (
    <section className="plans-panel" aria-label="Plans">
      {selected === undefined ? (
        <PlanList session={session} focused={last} onOpen={onSelect} />
      ) : (
        <PlanView
          key={selected}
          id={selected}
          session={session}
          onClose={() => {
            setLast(selected);
            onSelect(undefined);
          }}
        />
      )}
    </section>
  );
}

interface PlanListProps extends Pick<PlansPanelProps, "session"> {
  /** Id of the plan that receives focus when the list appears. */
  readonly focused: string | undefined;
  readonly onOpen: (plan: string) => void;
}

function PlanList({ session, focused, onOpen }: PlanListProps) {
  const { plans, error } = usePlans(session.client.conversation(session.conversation));
  const now = useNow(10_000);
  if (error !== undefined) {
    return <Problem error={error} />;
  }
  if (plans?.length === 0) {
    return <p className="variables-empty">No plans yet. Ask for one: "Make a plan …"</p>;
  }
  return (
    <ul className="plans-list">
      {plans?.toReversed().map((plan) => (
        <li key={plan.id}>
          <button
            type="button"
            className="plans-open"
            autoFocus={plan.id === focused}
            onClick={() => onOpen(plan.id)}
          >
            <span className="plans-line">
              <span className="plans-name">{planName(plan)}</span>
              <time dateTime={plan.createdAt}>{ageWords(plan.createdAt, now)}</time>
            </span>
            <span className="variables-facts">
              <MarkLabel mark={markOfPlan(plan)} />
              <span>{plural(plan.calls.length, "step")}</span>
              <span>{plan.agent}</span>
            </span>
            <span className="plans-chevron">
              <Icon name="open" size={16} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
