import { type ComponentProps, useState } from "react";
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
  /** True if the server knows the conversation. */
  readonly exists: boolean;
  /** Id of the open plan. */
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}

/** The plans of a conversation: the list, or one of them. */
export function PlansPanel({ exists, selected, onSelect }: PlansPanelProps) {
  const [last, setLast] = useState<string>();
  const close = () => {
    setLast(selected);
    onSelect(undefined);
  };
  return (
    <section className="plans-panel" aria-label="Plans">
      {selected === undefined ? (
        <PlanList exists={exists} focused={last} onOpen={onSelect} />
      ) : (
        <PlanView key={selected} id={selected} onClose={close} />
      )}
    </section>
  );
}

interface PlanListProps extends Pick<PlansPanelProps, "exists"> {
  /** Id of the plan that receives focus when the list appears. */
  readonly focused: string | undefined;
  readonly onOpen: (plan: string) => void;
}

function PlanList({ exists, focused, onOpen }: PlanListProps) {
  const { conversation } = useConversation().session;
  const { plans, error } = usePlans(exists ? conversation : undefined);
  if (error !== undefined) return <Problem error={error} />;
  if (!exists || plans?.length === 0) {
    return <p className="variables-empty">No plans yet. Ask for one: "Make a plan …"</p>;
  }
  return (
    <ul className="plans-list">
      {plans?.toReversed().map((plan) => (
        <OpenItem
          key={plan.id}
          name={planName(plan)}
          createdAt={plan.createdAt}
          autoFocus={plan.id === focused}
          onClick={() => onOpen(plan.id)}
        >
          <MarkLabel mark={markOfPlan(plan)} />
          <span>{plural(plan.calls.length, "step")}</span>
          <span>{plan.agent}</span>
        </OpenItem>
      ))}
    </ul>
  );
}

interface OpenItemProps extends ComponentProps<"button"> {
  readonly name: string;
  readonly createdAt: string;
}

/** A plan or program in a list. */
export function OpenItem({ name, createdAt, children, ...button }: OpenItemProps) {
  const now = useNow(10_000);
  return (
    <li>
      <Button className="plans-open" {...button}>
        <span className="plans-line">
          <span className="plans-name">{name}</span>
          <time dateTime={createdAt}>{ageWords(createdAt, now)}</time>
        </span>
        <span className="variables-facts">{children}</span>
        <span className="plans-chevron">
          <Icon name="open" size={16} />
        </span>
      </Button>
    </li>
  );
}
