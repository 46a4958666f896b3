import { type FormEvent, useState } from "react";
import type { PlanView as Plan, RunView } from "../../../packages/plans/src/http/plan-view.ts";
import type { Json } from "../../../src/value/json.ts";
import { Button, Code, Confirm, Fact, IconButton, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useNow } from "../hooks.ts";
import { handleIn } from "../variables/handle.ts";
import { JsonTree } from "../variables/json-tree.tsx";
import { Problem } from "../variables/problem.tsx";
import { faultIn } from "../variables/value-editor.tsx";
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
  runsNow,
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
  const { plan, problem, told } = open;
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
        {plan && <MarkLabel mark={told === undefined ? markOfPlan(plan) : "running"} />}
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
      {plan.findings.length > 0 && (
        <ul className="plans-findings" aria-label="Problems">
          {plan.findings.map(({ code, call, at, message }) => (
            <li key={`${code}/${call}/${at}/${message}`}>
              {call !== undefined && <strong>{call} </strong>}
              {message}
            </li>
          ))}
        </ul>
      )}
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

interface PlanActionsProps extends PlanBodyProps {
  /** True if a run needs an approval, which takes precedence. */
  readonly isWaiting: boolean;
}

function PlanActions({ plan, open, isWaiting }: PlanActionsProps) {
  const [asking, setAsking] = useState<"run" | "cancel">();
  const { approve, cancel, run, isBusy } = open;
  const fields = inputFields(plan.calls);
  const last = plan.runs.findLast(({ omitted }) => omitted !== true)?.input;
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
        <RunForm
          template={inputTemplate(fields, last)}
          onCancel={close}
          onRun={(request) => {
            close();
            run(request);
          }}
        />
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

interface RunFormProps {
  /** JSON template of the input. */
  readonly template: string;
  readonly onRun: OpenPlan["run"];
  readonly onCancel: () => void;
}

/** Form for a run's input. */
function RunForm({ template, onRun, onCancel }: RunFormProps) {
  const [text, setText] = useState(template);
  const [keep, setKeep] = useState(true);
  const json = text.trim() === "" ? "{}" : text;
  const fault = faultIn(json);
  const run = (event: FormEvent) => {
    event.preventDefault();
    if (fault === undefined) onRun({ input: JSON.parse(json) as Json, keep });
  };
  return (
    <form className="plans-form" onSubmit={run}>
      <label htmlFor="plans-input">Input of this run, as JSON</label>
      <textarea
        id="plans-input"
        className="field"
        autoFocus
        rows={Math.min(12, text.split("\n").length + 1)}
        spellCheck={false}
        aria-invalid={fault !== undefined}
        aria-describedby="plans-fault"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <p id="plans-fault" className="plans-fault" aria-live="polite">
        {fault}
      </p>
      <label className="plans-keep">
        <input type="checkbox" checked={keep} onChange={({ target }) => setKeep(target.checked)} />
        Save its result in $state
      </label>
      <SubmitButtons word="Run" isOff={fault !== undefined} onCancel={onCancel} />
    </form>
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

interface RunListProps {
  /** Oldest first. */
  readonly runs: readonly RunView[];
  /** Id of the run shown in the graph. */
  readonly shown: string | undefined;
  readonly onShow: (run: string | undefined) => void;
}

/** The runs of a plan with input and outcome, newest first. */
function RunList({ runs, shown, onShow }: RunListProps) {
  const now = useNow(10_000);
  if (runs.length === 0) return null;
  return (
    <section className="plans-runs" aria-label="Runs">
      <h3>{plural(runs.length, "run")}</h3>
      <ul>
        {runs.toReversed().map(({ id, status, createdAt, input, state, error, omitted }) => (
          <li key={id}>
            <Button
              className="plans-run"
              aria-expanded={id === shown}
              onClick={() => onShow(id === shown ? undefined : id)}
            >
              <MarkLabel mark={status === "waiting" ? "asks" : status} />
              <span className="plans-quiet">{id}</span>
              <time dateTime={createdAt}>{ageWords(createdAt, now)}</time>
            </Button>
            {id === shown && (
              <div className="plans-run-details">
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
              </div>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
