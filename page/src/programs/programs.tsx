import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  ClientError,
  type ProgramRunView,
  type ProgramView as Program,
} from "../../../packages/client/src/client.ts";
import type { Json } from "../../../src/value/json.ts";
import {
  Button,
  Code,
  Dialog,
  Form,
  IconButton,
  ListItem,
  Problem,
  SubmitButtons,
} from "../controls.tsx";
import { useAttempt } from "../hooks.ts";
import { Markdown, withoutMarks } from "../markdown/markdown.tsx";
import { callsIn } from "../plans/call-state.tsx";
import { Findings, RunList, Steps } from "../plans/plans-panel.tsx";
import type { Entry } from "../session.ts";
import { addressOf } from "../shell/use-route.ts";
import { durationWords, isLost, jsonIn, plural, shortened } from "../words.ts";
import { fieldsOf, InputForm } from "./input-form.tsx";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";
import "./programs.css";

interface ProgramProps {
  readonly entry: Entry;
  readonly name: string;
}

interface ProgramViewProps extends ProgramProps {
  /** Shown below the title. */
  readonly note?: string | undefined;
  readonly back?: () => void;
  /** Closes what the program is shown in. */
  readonly close: () => void;
}

const LOOK_MS = 1_500;

/** A program: the form of its input, its runs and its steps. */
function ProgramView({ entry, name, note, back, close }: ProgramViewProps) {
  const [shown, setShown] = useState<string>();
  const [problem, attempt, , isBusy] = useAttempt();
  const { data: program, error } = useQuery({
    queryKey: ["program", name],
    queryFn: () => exactly<Program>(entry, pathOf(name)),
  });
  const listed = useQuery({
    queryKey: ["program", name, "runs"],
    queryFn: () => entry.client.programs.runs(name),
    refetchInterval: ({ state: { data } }) =>
      (isBusy || isLost(problem) || data?.runs.some(({ status }) => status === "running")) &&
      LOOK_MS,
  });
  const run = async (input: string) => {
    const headers = { "content-type": "application/json" };
    const request = { headers, body: `{"input":${input}}` };
    setShown((await entry.ask<{ id: string }>("POST", `${pathOf(name)}/runs`, request)).id);
  };
  return (
    <article className="program plans-panel" aria-label={`Program ${name}`}>
      <header className="plans-title">
        {back && <IconButton icon="back" label="All programs" autoFocus onClick={back} />}
        <h2>{name}</h2>
        <IconButton icon="close" label="Close" onClick={close} />
      </header>
      <p className="program-note" role="status">
        {isLost(problem) ? "If the run has begun, it goes on, and is listed here." : note}
      </p>
      <Problem error={problem ?? error ?? listed.error} />
      {program && (
        <>
          <p className="item-facts plans-facts">
            <span>version {program.version}</span>
            <span>for {program.agent}</span>
            {program.tainted && <span>untrusted</span>}
          </p>
          <InputForm
            key={program.version}
            isBusy={isBusy}
            onRun={(input) => void attempt(() => run(input).finally(() => listed.refetch()))}
            fields={fieldsOf(program.input)}
          />
          <RunList runs={listed.data?.runs ?? []} shown={shown} onShow={setShown} lineOf={lineOf}>
            {({ id }) => <Result {...{ entry, name, id, close }} />}
          </RunList>
          <details className="program-steps">
            <summary>{plural(program.calls.length, "step")}</summary>
            <ProgramSteps program={program} />
          </details>
        </>
      )}
    </article>
  );
}

function pathOf(name: string): string {
  return `/programs/${encodeURIComponent(name)}`;
}

function lineOf({ ms, cause }: Pick<ProgramRunView, "ms" | "cause">): string {
  const time = ms === undefined ? [] : [ms < 1_000 ? `${ms} ms` : durationWords(ms)];
  return [...time, ...(cause === "request" ? [] : [cause])].join(" · ");
}

/** Loads JSON; numbers of many digits are texts in it. */
async function exactly<Body>({ call }: Entry, at: string): Promise<Body> {
  return jsonIn(await (await call("GET", at)).text()) as Body;
}

/** Indented, and clipped: results may have a megabyte. */
function indented(value: Json | undefined): string {
  return shortened(JSON.stringify(value ?? null, null, 2), 20_000);
}

/** The steps of a program with their inputs as they are written, and what was replaced in them. */
function ProgramSteps({ program }: { readonly program: Program }) {
  const { calls, findings, plan } = program;
  const { calls: written = [], message } = plan as { calls?: readonly Json[]; message?: string };
  const all = calls.map((call, index) => ({ ...call, input: written[index] ?? null }));
  return (
    <>
      <Findings findings={findings} label="Notes" />
      {message ?? <Steps calls={callsIn({ calls: all })} />}
    </>
  );
}

interface ResultProps extends ProgramProps {
  readonly id: string;
  readonly close: () => void;
}

/** What a run has written, or what it waits for. */
function Result({ entry, name, id, close }: ResultProps) {
  const [problem, attempt, , isBusy] = useAttempt();
  const queries = useQueryClient();
  const { data: run, error } = useQuery({
    queryKey: ["program", name, "run", id],
    queryFn: () => exactly<ProgramRunView>(entry, `${pathOf(name)}/runs/${encodeURIComponent(id)}`),
    refetchInterval: ({ state: { data } }) => data && !data.endedAt && LOOK_MS,
  });
  if (run === undefined) return <Problem error={error} />;
  const { endedAt, status, text, state, input, conversation } = run;
  const place = status === "waiting" ? "Decide in its conversation" : "Open its conversation";
  const look = () => queries.invalidateQueries({ queryKey: ["program", name] });
  const retry = () => entry.client.programs.retryRun(name, id).finally(look);
  return (
    <>
      <Problem error={problem ?? run.error} />
      {status === "failed" && (
        <Button disabled={isBusy} onClick={() => void attempt(retry)}>
          Retry
        </Button>
      )}
      {text === undefined ? (
        endedAt && <Code label="Result">{indented(state)}</Code>
      ) : (
        <Markdown text={withoutMarks(text)} isValue />
      )}
      <p className="plans-quiet">
        <a href={addressOf(conversation)} onClick={close}>
          {place}
        </a>
      </p>
      <details className="plans-quiet">
        <summary>Input</summary>
        <Code label="Input">{indented(input)}</Code>
      </details>
    </>
  );
}

function programsQuery({ client }: Entry) {
  return { queryKey: ["programs"], queryFn: () => client.programs.list() };
}

interface ProgramsDialogProps {
  readonly entry: Entry;
  readonly onClose: () => void;
}

/** The tenant's programs: the list, or one of them. */
export function ProgramsDialog({ entry, onClose }: ProgramsDialogProps) {
  const [selected, setSelected] = useState<string>();
  const { data, error } = useQuery(programsQuery(entry));
  return (
    <Dialog label="Programs" className="program-dialog" onClose={onClose}>
      {(close) =>
        selected === undefined ? (
          <section className="plans-panel">
            <header className="plans-title">
              <h2>Programs</h2>
              <IconButton icon="close" label="Close" onClick={close} />
            </header>
            <Problem error={error} />
            {data?.programs.length === 0 && (
              <p className="variables-empty">
                No programs yet: "Save as program" below an answer keeps what led to it.
              </p>
            )}
            <ul className="items">
              {data?.programs.map(({ name, version, agent, createdAt }) => (
                <ListItem
                  key={name}
                  name={<span className="item-name">{name}</span>}
                  at={createdAt}
                  onClick={() => setSelected(name)}
                  facts={`version ${version}, ${agent}`}
                />
              ))}
            </ul>
          </section>
        ) : (
          <ProgramView {...{ entry, close }} name={selected} back={() => setSelected(undefined)} />
        )
      }
    </Dialog>
  );
}

interface SaveProgramProps {
  /** A variable, as `$report`, or the id of an answer. */
  readonly from: string;
  readonly onClose: () => void;
}

/** Shows what led to a value or an answer, and keeps it as a program. */
export function SaveProgram({ from, onClose }: SaveProgramProps) {
  const { session } = useConversation();
  const { client, conversation } = session;
  const [name, setName] = useState("");
  const [saved, setSaved] = useState<Program>();
  const [problem, attempt, , isBusy] = useAttempt();
  const queries = useQueryClient();
  const source = { conversation: conversation.id, from };
  const { data: made, error } = useQuery({
    queryKey: ["conversation", conversation.id, "program", from],
    queryFn: () => client.programs.put("check", source, { check: true }),
    ...unchanging,
  });
  const { data: listed } = useQuery(programsQuery(session));
  const before = listed?.programs.find((one) => one.name === name);
  const isName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/.test(name);
  const save = () =>
    void attempt(async () => {
      setSaved(await client.programs.put(name, source));
      void queries.invalidateQueries({ queryKey: ["programs"] });
      void queries.invalidateQueries({ queryKey: ["program", name] });
    });
  const inputs = fieldsOf(made?.input).flatMap(({ key }) => key ?? []);
  const none = "It was given nothing, so each run does the same.";
  const given = inputs.length ? `Each run may be given other ${inputs.join(", ")}.` : none;
  const { findings = [] } = { ...(error instanceof ClientError ? error.details : undefined) };
  return (
    <Dialog label="Save as program" className="program-dialog" onClose={onClose}>
      {(close) =>
        saved !== undefined ? (
          <ProgramView
            {...{ close, name }}
            entry={session}
            note={`Saved as version ${saved.version}. It runs again without a model.`}
          />
        ) : (
          <Form className="plans-panel" onSubmit={save}>
            <header className="plans-title">
              <h2>Save as program</h2>
            </header>
            <div className="plans-form">
              <label htmlFor="program-name">Name</label>
              <input
                id="program-name"
                className="field"
                autoFocus
                autoComplete="off"
                placeholder="monthly-report"
                value={name}
                maxLength={100}
                aria-invalid={name !== "" && !isName}
                aria-describedby="program-hint"
                onChange={({ target }) => setName(target.value.replaceAll(/\s+/g, "-"))}
              />
              <p id="program-hint" className="plans-quiet" aria-live="polite">
                {name !== "" && !isName
                  ? "Use the letters A to Z, digits, dots, _ and -."
                  : before
                    ? `There is a program of this name: this becomes its version ${before.version + 1}.`
                    : made && given}
              </p>
              <Problem error={problem ?? (made ? undefined : error)} />
              <SubmitButtons word="Save" isOff={!isName || isBusy || !made} onCancel={close} />
            </div>
            {Array.isArray(findings) && <Findings findings={findings} label="Problems" />}
            {made !== undefined && <ProgramSteps program={made} />}
          </Form>
        )
      }
    </Dialog>
  );
}
