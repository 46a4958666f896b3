import { useState } from "react";
import type { PlanView as Plan } from "../../../packages/plans/src/http/plan-view.ts";
import type { Session } from "../session.ts";
import { Confirm } from "../shell/confirm.tsx";
import { Icon } from "../icon.tsx";
import { Problem } from "../variables/problem.tsx";
import { plural } from "../words.ts";
import { CallDetails } from "./call-details.tsx";
import { callsIn, gatesOf, markOfPlan, planName, runsNow } from "./call-state.ts";
import { GateCard } from "./gate-card.tsx";
import { MarkLabel } from "./mark.tsx";
import { PlanGraph } from "./plan-graph.tsx";
import { inputFields, inputTemplate } from "./plan-input.ts";
import { RunForm } from "./run-form.tsx";
import { RunList } from "./run-list.tsx";
import { type OpenPlan, usePlan } from "./use-plan.ts";

interface PlanViewProps {
  readonly session: Session;
  readonly id: string;
  readonly onClose: () => void;
}

/** A plan: its graph, open gates and runs. */
export function PlanView({ session, id, onClose }: PlanViewProps) {
  const open = usePlan(session, id);
  const { plan, error, problem } = open;
  return (
    <article className="plans-one" aria-label="Plan">
      <header className="plans-title">
        <button
          type="button"
          className="variables-action"
          aria-label="All plans"
          // A proposed plan opens by itself, and must not take the focus from someone who is typing.
          autoFocus={!(document.activeElement instanceof HTMLTextAreaElement)}
          onClick={onClose}
        >
          <Icon name="back" size={16} />
        </button>
        <h2>{plan === undefined ? "" : planName(plan)}</h2>
        {plan === undefined ? null : (
          <MarkLabel mark={open.told === undefined ? markOfPlan(plan) : "running"} />
        )}
      </header>
      <Problem error={problem ?? error} />
      {plan === undefined ? null : <PlanBody plan={plan} open={open} />}
    </article>
  );
}

interface PlanBodyProps {
  readonly plan: Plan;
  readonly open: OpenPlan;
}

function PlanBody({ plan, open }: PlanBodyProps) {
  const [selected, setSelected] = useState<string>();
  const [shownRun, setShownRun] = useState<string>();
  const { told, isBusy } = open;
  // Selects the run that was started here.
  const newest = <Asked extends readonly unknown[]>(work: (...asked: Asked) => void) => {
    return (...asked: Asked) => {
      setShownRun(undefined);
      work(...asked);
    };
  };
  const run = plan.runs.find(({ id }) => id === shownRun) ?? plan.runs.at(-1);
  const calls = callsIn(plan, run, told);
  const call = calls.find(({ _id }) => _id === selected);
  const gates = gatesOf(runsNow(plan.runs, told));
  return (
    <>
      <PlanFacts plan={plan} />
      {gates.map((gate) => (
        <GateCard
          key={`${gate.run}/${gate.name}`}
          {...{ gate, isBusy }}
          calls={plan.calls}
          onDecide={newest(open.decide)}
        />
      ))}
      <PlanActions
        plan={plan}
        open={{ ...open, run: newest(open.run) }}
        isWaiting={gates.length > 0}
      />
      {plan.findings.length === 0 ? null : <Findings plan={plan} />}
      <PlanGraph calls={calls} selected={selected} onSelect={setSelected} />
      {call === undefined ? (
        <p className="plans-hint">Select a step to see its input.</p>
      ) : (
        <CallDetails call={call} />
      )}
      <RunList runs={plan.runs} shown={shownRun} onShow={setShownRun} />
    </>
  );
}

const FORMATS = {
  json: "JSON plan",
  "capability-xml": "capability workflow",
  template: "template",
} as const;

function PlanFacts({ plan: { agent, calls, format, tainted } }: { readonly plan: Plan }) {
  return (
    <p className="variables-facts plans-facts">
      <span>{plural(calls.length, "step")}</span>
      <span>{FORMATS[format]}</span>
      <span>for {agent}</span>
      {tainted === true ? (
        <span
          className="variables-label variables-warning"
          title="Its author had read untrusted data"
        >
          untrusted
        </span>
      ) : null}
    </p>
  );
}

type Asking = "run" | "cancel" | undefined;

interface PlanActionsProps extends PlanBodyProps {
  /** True if a run needs an approval, which takes precedence. */
  readonly isWaiting: boolean;
}

function PlanActions({ plan, open, isWaiting }: PlanActionsProps) {
  const [asking, setAsking] = useState<Asking>();
  const { approve, cancel, run, isBusy } = open;
  const fields = inputFields(plan.calls);
  const last = plan.runs.findLast(({ omitted }) => omitted !== true)?.input;
  const canRun = plan.status !== "proposed" && plan.status !== "cancelled";
  const canCancel = ["proposed", "approved", "running"].includes(plan.status);
  const begin = () => {
    if (fields.length > 0 || plan.format !== "json") setAsking("run");
    else run({ input: {}, keep: true });
  };
  return (
    <>
      <div className="plans-actions">
        {plan.status === "proposed" ? (
          <button type="button" className="button button-main" disabled={isBusy} onClick={approve}>
            Approve
          </button>
        ) : null}
        {canRun && asking !== "run" ? (
          <button
            type="button"
            className={plan.status === "running" || isWaiting ? "button" : "button button-main"}
            disabled={isBusy}
            onClick={begin}
          >
            {plan.runs.length === 0 ? "Run" : "Run again"}
          </button>
        ) : null}
        {canCancel ? (
          <button type="button" className="button" onClick={() => setAsking("cancel")}>
            Cancel plan
          </button>
        ) : null}
      </div>
      {asking === "run" ? (
        <RunForm
          template={inputTemplate(fields, last)}
          onCancel={() => setAsking(undefined)}
          onRun={(request) => {
            setAsking(undefined);
            run(request);
          }}
        />
      ) : null}
      {asking === "cancel" ? (
        <Confirm
          title="Cancel this plan?"
          text="Steps that are running are stopped. The plan cannot be approved again."
          word="Cancel plan"
          onYes={() => {
            setAsking(undefined);
            cancel();
          }}
          onNo={() => setAsking(undefined)}
        />
      ) : null}
    </>
  );
}

function Findings({ plan: { findings } }: { readonly plan: Plan }) {
  return (
    <ul className="plans-findings" aria-label="Problems">
      {findings.map(({ code, call, at, message }) => (
        <li key={`${code}/${call}/${at}/${message}`}>
          {call === undefined ? null : <strong>{call} </strong>}
          {message}
        </li>
      ))}
    </ul>
  );
}
