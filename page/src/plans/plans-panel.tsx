import { useState } from "react";
import { Button } from "../controls.tsx";
import { usePlans } from "../../../packages/client/src/react.ts";
import { useConversation } from "../conversation-context.ts";
import { useNow } from "../hooks.ts";
import { Icon } from "../icon.tsx";
import { Problem } from "../variables/problem.tsx";
import { plural } from "../words.ts";
import { ageWords } from "../variables/words.ts";
import { markOfPlan, planName } from "./call-state.ts";
import { MarkLabel } from "./mark.tsx";
import { PlanView } from "./plan-view.tsx";
import "../variables/controls.css";
import "../variables/variable-list.css";
import "../variables/variables.css";
import "./plans.css";

interface PlansPanelProps {
  /** Id of the open plan. */
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}

/** The plans of a conversation: the list, or one of them. */
export function PlansPanel({ selected, onSelect }: PlansPanelProps) {
  const [last, setLast] = useState<string>();
  const close = () => {
    setLast(selected);
    onSelect(undefined);
  };
  return (
    <section className="plans-panel" aria-label="Plans">
      {selected === undefined ? (
        <PlanList focused={last} onOpen={onSelect} />
      ) : (
        <PlanView key={selected} id={selected} onClose={close} />
      )}
    </section>
  );
}

interface PlanListProps {
  /** Id of the plan that receives focus when the list appears. */
  readonly focused: string | undefined;
  readonly onOpen: (plan: string) => void;
}

function PlanList({ focused, onOpen }: PlanListProps) {
  const { plans, error } = usePlans(useConversation().session.conversation);
  const now = useNow(10_000);
  if (error !== undefined) return <Problem error={error} />;
  if (plans?.length === 0) {
    return <p className="variables-empty">No plans yet. Ask for one: "Make a plan …"</p>;
  }
  return (
    <ul className="plans-list">
      {plans?.toReversed().map((plan) => (
        <li key={plan.id}>
          <Button
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
          </Button>
        </li>
      ))}
    </ul>
  );
}
