import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type {
  ProgramRunView,
  ProgramView as Program,
} from "../../../packages/client/src/client.ts";
import type { Json } from "../../../src/value/json.ts";
import { Code, IconButton } from "../controls.tsx";
import { useAttempt } from "../hooks.ts";
import { Markdown, withoutMarks } from "../markdown/markdown.tsx";
import { callsIn } from "../plans/call-state.ts";
import { Findings, RunList, Steps } from "../plans/plan-view.tsx";
import type { Entry } from "../session.ts";
import { addressOf } from "../shell/use-route.ts";
import { Problem } from "../variables/problem.tsx";
import { durationWords } from "../variables/words.ts";
import { isLost, jsonIn, plural, shortened } from "../words.ts";
import { fieldsOf } from "./input-fields.ts";
import { InputForm } from "./input-form.tsx";
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
export function ProgramView({ entry, name, note, back, close }: ProgramViewProps) {
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
          <p className="variables-facts plans-facts">
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
export function ProgramSteps({ program }: { readonly program: Program }) {
  const { calls, findings, format, plan } = program;
  const { calls: written = [] } = { ...(plan as { calls?: readonly Json[] }) };
  const all = calls.map((call, index) => ({ ...call, input: written[index] ?? null }));
  return (
    <>
      <Findings findings={findings} label="Notes" />
      <Steps calls={callsIn({ calls: all, format })} />
    </>
  );
}

interface ResultProps extends ProgramProps {
  readonly id: string;
  readonly close: () => void;
}

/** What a run has written, or what it waits for. */
function Result({ entry, name, id, close }: ResultProps) {
  const { data: run, error } = useQuery({
    queryKey: ["program", name, "run", id],
    queryFn: () => exactly<ProgramRunView>(entry, `${pathOf(name)}/runs/${encodeURIComponent(id)}`),
    refetchInterval: ({ state: { data } }) => data && !data.endedAt && LOOK_MS,
  });
  if (run === undefined) return <Problem error={error} />;
  const { endedAt, status, text, state, input, conversation } = run;
  const place = status === "waiting" ? "Decide in its conversation" : "Open its conversation";
  return (
    <>
      <Problem error={run.error} />
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
