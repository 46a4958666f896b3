import { lazy, type ReactNode, Suspense, type SyntheticEvent, useState } from "react";
import { Segments } from "../segments.tsx";
import type { Session } from "../session.ts";
import { problemWords } from "./problem-words.ts";
import { RecordTable } from "./record-table.tsx";
import { heldRecords } from "./held-records.ts";
import { useAttempt } from "./use-attempt.ts";
import type { Records } from "./use-records.ts";
import { figure } from "../words.ts";
import "./query-box.css";

const RecordsChart = lazy(() => import("../chart/records-chart.tsx"));

interface QueryBoxProps {
  readonly session: Session;
  /** Name of the variable in the initial query. */
  readonly name: string;
  /** Shown while there is no result. */
  readonly children: ReactNode;
}

interface Result {
  readonly sql: string;
  readonly records: Records;
}

/** A field for SQL above a table. The result replaces the table, and can be saved as a variable. */
export function QueryBox({ session, name, children }: QueryBoxProps) {
  const [sql, setSql] = useState("");
  const [result, setResult] = useState<Result>();
  const [problem, attempt] = useAttempt();
  const conversation = session.client.conversation(session.conversation);
  const run = (event: SyntheticEvent) => {
    event.preventDefault();
    if (sql.trim() === "") return setResult(undefined);
    return attempt(async () =>
      setResult({ sql, records: heldRecords(await conversation.query(sql)) }),
    );
  };
  const clear = () => {
    setSql("");
    setResult(undefined);
  };
  return (
    <>
      <form className="variables-query" onSubmit={(event) => void run(event)}>
        <textarea
          className="variables-sql"
          aria-label="SQL query"
          rows={2}
          placeholder={`SELECT * FROM ${name} LIMIT 10`}
          autoCapitalize="off"
          autoComplete="off"
          spellCheck={false}
          value={sql}
          onChange={({ target }) => setSql(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey) run(event);
          }}
        />
        <button type="submit" className="variables-tool">
          Run query
        </button>
        {result === undefined ? null : (
          <button type="button" className="variables-tool" onClick={clear}>
            Clear
          </button>
        )}
      </form>
      {problem === undefined ? null : (
        <pre className="variables-problem variables-query-problem" role="alert">
          {problemWords(problem)}
        </pre>
      )}
      {result === undefined ? children : <ResultView session={session} result={result} />}
    </>
  );
}

const FORMS = ["Table", "Chart"] as const;

function ResultView({ session, result }: { readonly session: Session; readonly result: Result }) {
  const [form, setForm] = useState<(typeof FORMS)[number]>("Table");
  const { records } = result;
  if (records.count === 0) return <p className="variables-empty">No rows.</p>;
  const hasNumbers = records.columns.some(({ isNumeric }) => isNumeric) && records.count > 1;
  return (
    <>
      {hasNumbers ? (
        <Segments label="Result shown as" values={FORMS} value={form} onChoose={setForm} />
      ) : null}
      {form === "Chart" && hasNumbers ? (
        <Suspense fallback={<p className="variables-wait">Loading…</p>}>
          <RecordsChart records={records} name="result" />
        </Suspense>
      ) : (
        <RecordTable records={records} name="result" />
      )}
      <SaveResult key={result.sql} session={session} result={result} />
    </>
  );
}

function SaveResult({ session, result }: { readonly session: Session; readonly result: Result }) {
  const [name, setName] = useState("result");
  const [saved, setSaved] = useState<string>();
  const [problem, attempt] = useAttempt();
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    return attempt(async () => {
      // The server runs the query again, so that the variable gets the labels of its sources.
      const conversation = session.client.conversation(session.conversation);
      await conversation.query(result.sql, { saveAs: name });
      setSaved(name);
    });
  };
  return (
    <form className="variables-query" onSubmit={(event) => void save(event)}>
      <input
        aria-label="Name of the new variable"
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <button type="submit" className="variables-tool">
        Save {figure(result.records.count)} rows as a variable
      </button>
      <span role="status">{saved === undefined ? null : `Saved as $${saved}`}</span>
      {problem === undefined ? null : (
        <span className="variables-problem" role="alert">
          {problemWords(problem)}
        </span>
      )}
    </form>
  );
}
