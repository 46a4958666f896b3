import { type ReactNode, useState } from "react";
import type { PlanView as Plan, RunView } from "../../../packages/plans/src/http/plan-view.ts";
import type { Json } from "../../../src/value/json.ts";
import { Button, Code, Confirm, Fact, IconButton, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useNow } from "../hooks.ts";
import { fieldsOf } from "../programs/input-fields.ts";
import { InputForm } from "../programs/input-form.tsx";
import { handleIn } from "../variables/handle.ts";
import { JsonTree } from "../variables/json-tree.tsx";
import { Problem } from "../variables/problem.tsx";
import { ageWords } from "../variables/words.ts";
import { plural } from "../words.ts";
import {
  callsIn,
  type Gate,
  gatesOf,
  inputFields,
  inputTemplate,
  markOfCall,
  markOfPlan,
  type PlannedCall,
  planName,
} from "./call-state.ts";
import { MarkLabel } from "./mark.tsx";
import { PlanGraph } from "./plan-graph.tsx";
import { type OpenPlan, usePlan } from "./use-plan.ts";

interface PlanViewProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** A plan: its graph, open gates and runs. */
export function PlanView({ id, onClose }: PlanViewProps) {
  const open = usePlan(id);
  const { plan, problem } = open;
  return (
    <article className="plans-one" aria-label="Plan">
      <header className="plans-title">
        <IconButton
          className="variables-action"
          icon="back"
          label="All plans"
          size={16}
          // A proposed plan opens by itself, and must not take the focus from someone who is typing.
          autoFocus={!(document.activeElement instanceof HTMLTextAreaElement)}
          onClick={onClose}
        />
        <h2>{plan && planName(plan)}</h2>
        {plan && <MarkLabel mark={markOfPlan(plan)} />}
      </header>
      <Problem error={problem} />
      {plan && <PlanBody plan={plan} open={open} />}
    </article>
  );
}

interface PlanBodyProps {
  readonly plan: Plan;
  readonly open: OpenPlan;
}

const FORMATS = {
  json: "JSON plan",
  "capability-xml": "capability workflow",
  template: "template",
} as const;

function PlanBody({ plan, open }: PlanBodyProps) {
  const [shownRun, setShownRun] = useState<string>();
  const { isBusy } = open;
  // Selects the run that was started here.
  const newest = <Asked extends readonly unknown[]>(work: (...asked: Asked) => void) => {
    return (...asked: Asked) => {
      setShownRun(undefined);
      work(...asked);
    };
  };
  const run = plan.runs.find(({ id }) => id === shownRun) ?? plan.runs.at(-1);
  const calls = callsIn(plan, run);
  const gates = gatesOf(plan.runs);
  return (
    <>
      <p className="variables-facts plans-facts">
        <span>{plural(plan.calls.length, "step")}</span>
        <span>{FORMATS[plan.format]}</span>
        <span>for {plan.agent}</span>
        {plan.tainted === true && (
          <span
            className="variables-label variables-warning"
            title="Its author had read untrusted data"
          >
            untrusted
          </span>
        )}
      </p>
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
      <Findings findings={plan.findings} label="Problems" />
      <Steps calls={calls} />
      <RunList runs={plan.runs.toReversed()} shown={shownRun} onShow={setShownRun}>
        {({ input, state, error, omitted }) => (
          <>
            <Problem error={error} />
            {omitted === true ? (
              <p className="plans-quiet">Its input and state are too large to show here.</p>
            ) : (
              <>
                <h4>Input</h4>
                <JsonTree value={input} />
                <h4>State</h4>
                <JsonTree value={state} />
              </>
            )}
          </>
        )}
      </RunList>
    </>
  );
}

interface FindingsProps {
  readonly findings: Plan["findings"];
  readonly label: "Problems" | "Notes";
}

/** What the check of a plan has found. Renders nothing without it. */
export function Findings({ findings, label }: FindingsProps) {
  if (findings.length === 0) return null;
  return (
    <ul className="plans-findings" aria-label={label}>
      {findings.map(({ code, call, at, message }) => (
        <li key={`${code}/${call}/${at}/${message}`}>
          {call !== undefined && <strong>{call} </strong>}
          {message}
        </li>
      ))}
    </ul>
  );
}

/** The graph of a plan's calls, and the selected one. */
export function Steps({ calls }: { readonly calls: readonly PlannedCall[] }) {
  const [selected, setSelected] = useState<string>();
  const call = calls.find(({ _id }) => _id === selected);
  return (
    <>
      <PlanGraph calls={calls} selected={selected} onSelect={setSelected} />
      {call === undefined ? (
        <p className="plans-hint">Select a step to see its input.</p>
      ) : (
        <CallDetails call={call} />
      )}
    </>
  );
}

interface PlanActionsProps extends PlanBodyProps {
  /** True if a run needs an approval, which takes precedence. */
  readonly isWaiting: boolean;
}

function PlanActions({ plan, open, isWaiting }: PlanActionsProps) {
  const [asking, setAsking] = useState<"run" | "cancel">();
  const { approve, cancel, run, isBusy } = open;
  const fields = inputFields(plan.calls);
  const last = plan.runs.findLast(({ omitted }) => omitted !== true)?.input;
  const text = inputTemplate(fields, last);
  const canRun = plan.status !== "proposed" && plan.status !== "cancelled";
  const close = () => setAsking(undefined);
  const begin = () => {
    if (fields.length > 0 || plan.format !== "json") setAsking("run");
    else run({ input: {}, keep: true });
  };
  return (
    <>
      <div className="plans-actions">
        {plan.status === "proposed" && (
          <Button isMain disabled={isBusy} onClick={approve}>
            Approve
          </Button>
        )}
        {canRun && asking !== "run" && (
          <Button
            isMain={plan.status !== "running" && !isWaiting}
            disabled={isBusy}
            onClick={begin}
          >
            {plan.runs.length === 0 ? "Run" : "Run again"}
          </Button>
        )}
        {["proposed", "approved", "running"].includes(plan.status) && (
          <Button onClick={() => setAsking("cancel")}>Cancel plan</Button>
        )}
      </div>
      {asking === "run" && (
        <InputForm
          fields={plan.input === undefined ? [{ kind: "json", text }] : fieldsOf(plan.input, last)}
          onCancel={close}
          onRun={(json, given) => {
            close();
            run({ input: JSON.parse(json) as Json, keep: given.has("keep") });
          }}
        >
          <label className="plans-keep">
            <input type="checkbox" name="keep" defaultChecked />
            Save its result in $state
          </label>
        </InputForm>
      )}
      {asking === "cancel" && (
        <Confirm
          title="Cancel this plan?"
          text="Steps that are running are stopped. The plan cannot be approved again."
          word="Cancel plan"
          onYes={() => {
            close();
            cancel();
          }}
          onNo={close}
        />
      )}
    </>
  );
}

interface GateCardProps {
  readonly gate: Gate;
  /** The plan's calls, with their inputs. */
  readonly calls: readonly PlannedCall[];
  readonly isBusy: boolean;
  readonly onDecide: OpenPlan["decide"];
}

/** An open gate with the calls behind it. */
function GateCard({ gate, calls, isBusy, onDecide }: GateCardProps) {
  const [reason, setReason] = useState("");
  const decide = (approved: boolean) =>
    onDecide(gate, { approved, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) });
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
          {why !== undefined && <p className="plans-quiet">{why}</p>}
          {asked === undefined ? (
            <JsonTree value={calls.find((call) => call._id === _id)?.input ?? null} />
          ) : (
            <Code label="What would run">{asked}</Code>
          )}
        </div>
      ))}
      <input
        className="field"
        aria-label="Reason"
        placeholder="Reason (optional)"
        value={reason}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
      />
      <SubmitButtons
        word="Approve"
        isOff={isBusy}
        onClick={() => decide(true)}
        cancelWord="Deny"
        onCancel={() => decide(false)}
      />
    </section>
  );
}

/** Details of a plan's call: its input and output. */
function CallDetails({ call }: { readonly call: PlannedCall }) {
  const { _id, _tool, _outputPath, _after = [], after, input, reason, gate, asked, output } = call;
  return (
    <section className="plans-details" aria-label={`Step ${_id}`} aria-live="polite">
      <header>
        <h3>{_tool}</h3>
        <MarkLabel mark={markOfCall(call)} />
      </header>
      <dl>
        <Fact name="Step">{_id}</Fact>
        <Fact name="Writes">{_outputPath}</Fact>
        <Fact name="Depends on">{[...after, ..._after].join(", ") || undefined}</Fact>
        <Fact name="Gate">{gate}</Fact>
        <Fact name="Reason">{reason}</Fact>
      </dl>
      {output !== undefined && (
        <>
          <h4>Output</h4>
          <CallOutput output={output} />
        </>
      )}
      <h4>Input</h4>
      <JsonTree value={input} />
      {asked !== undefined && (
        <>
          <h4>What would run</h4>
          <Code label="What would run">{asked}</Code>
        </>
      )}
    </section>
  );
}

/** Shows the output, or the variable that holds it. */
function CallOutput({ output }: { readonly output: NonNullable<PlannedCall["output"]> | null }) {
  const { open } = useConversation();
  const { name, size, preview, visibility } = handleIn(output) ?? {};
  // An output can have more fields than those of a handle. Then all are shown.
  const about = size ?? visibility;
  if (about === undefined) return <JsonTree value={output} />;
  return (
    <>
      <p className="plans-output">
        <button type="button" onClick={() => open({ tab: "variables", variable: name })}>
          ${name}
        </button>
        <span>{about}</span>
      </p>
      {preview !== undefined && <Code label="Preview">{preview}</Code>}
    </>
  );
}

interface RunListProps<Run> {
  /** Newest first. */
  readonly runs: readonly Run[];
  /** Id of the run that is shown. */
  readonly shown: string | undefined;
  readonly onShow: (run: string | undefined) => void;
  /** What is in the line of a run. Default: its id. */
  readonly lineOf?: (run: Run) => string;
  /** What is shown of the shown run. */
  readonly children: (run: Run) => ReactNode;
}

/** The runs of a plan or program. */
export function RunList<Run extends Pick<RunView, "id" | "status" | "createdAt">>(
  props: RunListProps<Run>,
) {
  const { runs, shown, onShow, lineOf = ({ id }) => id, children } = props;
  const now = useNow(10_000);
  if (runs.length === 0) return null;
  return (
    <section className="plans-runs" aria-label="Runs">
      <h3>{plural(runs.length, "run")}</h3>
      <ul>
        {runs.map((run) => {
          const { id, status, createdAt } = run;
          return (
            <li key={id}>
              <Button
                className="plans-run"
                aria-expanded={id === shown}
                onClick={() => onShow(id === shown ? undefined : id)}
              >
                <MarkLabel mark={status === "waiting" ? "asks" : status} />
                <span className="plans-quiet">{lineOf(run)}</span>
                <time dateTime={createdAt}>{ageWords(createdAt, now)}</time>
              </Button>
              {id === shown && <div className="plans-run-details">{children(run)}</div>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
