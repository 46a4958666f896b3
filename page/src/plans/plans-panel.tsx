import { type ReactNode, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import {
  Button,
  Code,
  Confirm,
  DecisionForm,
  Fact,
  IconButton,
  ListItem,
  Problem,
} from "../controls.tsx";
import { usePlans } from "../../../packages/client/src/react.ts";
import { useConversation } from "../conversation-context.ts";
import { useAttempt, useNow } from "../hooks.ts";
import { ageWords, plural } from "../words.ts";
import {
  callsIn,
  type Gate,
  gatesOf,
  inputFields,
  inputTemplate,
  MarkLabel,
  markOfCall,
  markOfPlan,
  planName,
  type PlannedCall,
} from "./call-state.tsx";
import type { Chunk, Decision, RunData } from "../../../packages/client/src/client.ts";
import type { PlanView as Plan, RunView } from "../../../packages/plans/src/http/plan-view.ts";
import { VariableLink } from "../references/variable-link.tsx";
import { fieldsOf, InputForm } from "../programs/input-form.tsx";
import { handleIn } from "../chat/tool-part.ts";
import { JsonTree } from "../variables/json-tree.tsx";
import { PlanGraph } from "./plan-graph.tsx";
import "../variables/controls.css";
import "../variables/variable-list.css";
import "../variables/variables.css";
import "./plans.css";

/** The plans of a conversation: the list, or one of them. */
export function PlansPanel() {
  const { view, open } = useConversation();
  const { plan: selected } = view;
  const [last, setLast] = useState<string>();
  const close = () => {
    setLast(selected);
    open({ plan: undefined });
  };
  return (
    <section className="plans-panel" aria-label="Plans">
      {selected === undefined ? (
        <PlanList focused={last} />
      ) : (
        <PlanView key={selected} id={selected} onClose={close} />
      )}
    </section>
  );
}

/** `focused`: the id of the plan that receives focus when the list appears. */
function PlanList({ focused }: { readonly focused: string | undefined }) {
  const { session, exists, open } = useConversation();
  const { conversation } = session;
  const { plans, error } = usePlans(exists ? conversation : undefined);
  if (error !== undefined) return <Problem error={error} />;
  if (!exists || plans?.length === 0) {
    return <p className="variables-empty">No plans yet. Ask for one: "Make a plan …"</p>;
  }
  return (
    <ul className="items">
      {plans?.toReversed().map((plan) => (
        <ListItem
          key={plan.id}
          name={<span className="item-name">{planName(plan)}</span>}
          at={plan.createdAt}
          autoFocus={plan.id === focused}
          onClick={() => open({ plan: plan.id })}
          facts={
            <>
              <MarkLabel mark={markOfPlan(plan)} />
              <span>{plural(plan.calls.length, "step")}</span>
              <span>{plan.agent}</span>
            </>
          }
        />
      ))}
    </ul>
  );
}

interface PlanViewProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** A plan: its graph, open gates and runs. */
function PlanView({ id, onClose }: PlanViewProps) {
  const open = usePlan(id);
  const { plan, problem } = open;
  return (
    <article className="plans-one" aria-label="Plan">
      <header className="plans-title">
        <IconButton
          isSmall
          icon="back"
          label="All plans"
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

/** Polling interval of running runs, whose events may be late. */
const LOOK_MS = 1_500;

/** Loads a plan and returns it with its actions. */
function usePlan(id: string) {
  const { conversation, call } = useConversation().session;
  const { plans, approvals } = conversation;
  const [problem, attempt, , isBusy] = useAttempt();
  const { data, error, refetch } = useQuery({
    queryKey: ["conversation", conversation.id, "plan", id],
    queryFn: () => plans.get(id),
    refetchInterval: ({ state }) =>
      state.data?.runs.some(({ status }) => status === "running") === true && LOOK_MS,
  });
  const act = (work: () => Promise<unknown>): void =>
    void attempt(() => work().finally(() => refetch()));
  /** Reads how a run begins. What it does then, the conversation's events say. */
  const begin = async (chunks: AsyncIterable<Chunk<RunData>>) => {
    for await (const chunk of chunks) {
      if (chunk.type === "error") throw new Error(chunk.errorText);
      break;
    }
  };
  const started = async (body: string) => {
    const at = `/conversations/${encodeURIComponent(conversation.id)}/plans/${encodeURIComponent(id)}/run`;
    const headers = { accept: "text/event-stream", "content-type": "application/json" };
    await (await call("POST", at, { headers, body })).body?.cancel();
  };
  return {
    plan: data,
    /** Error of the last request. */
    problem: problem ?? error,
    isBusy,
    approve: () => act(() => plans.approve(id)),
    cancel: () => act(() => plans.cancel(id)),
    /** `input`: JSON, whose numbers keep their digits. */
    run: (input: string, keep: boolean) => act(() => started(`{"input":${input},"keep":${keep}}`)),
    decide: ({ name, run }: Gate, decision: Decision) => {
      const decided = { ...decision, run };
      act(() => begin(approvals.decide(name, decided)));
    },
  };
}

type OpenPlan = ReturnType<typeof usePlan>;

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
      <p className="item-facts plans-facts">
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
    else run("{}", true);
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
            run(json, given.has("keep"));
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
  return (
    <section className="plans-gate" aria-label={`Gate ${gate.name}`}>
      <header>
        <h3>{gate.name}</h3>
        <MarkLabel mark="asks" />
      </header>
      <DecisionForm isOff={isBusy} decide={(decision) => onDecide(gate, decision)}>
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
      </DecisionForm>
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
      <dl className="facts">
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
  const { name = "", size, preview, visibility } = handleIn(output) ?? {};
  // An output can have more fields than those of a handle. Then all are shown.
  const about = size ?? visibility;
  if (about === undefined) return <JsonTree value={output} />;
  return (
    <>
      <p className="plans-output">
        <VariableLink name={name} />
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
