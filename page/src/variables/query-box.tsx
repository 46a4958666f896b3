import { type ReactNode, type SyntheticEvent, useState } from "react";
import { Button } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt } from "../hooks.ts";
import { figure, problemWords } from "../words.ts";
import { Problem } from "./problem.tsx";
import { heldRecords, RecordForms } from "./record-forms.tsx";
import type { Records } from "./use-records.ts";
import "./query-box.css";

interface QueryBoxProps {
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
export function QueryBox({ name, children }: QueryBoxProps) {
  const { conversation } = useConversation().session;
  const [sql, setSql] = useState("");
  const [result, setResult] = useState<Result>();
  const [problem, attempt] = useAttempt();
  const run = (event: SyntheticEvent) => {
    event.preventDefault();
    if (sql.trim() === "") return setResult(undefined);
    return void attempt(async () =>
      setResult({ sql, records: heldRecords(await conversation.query(sql)) }),
    );
  };
  const clear = () => {
    setSql("");
    setResult(undefined);
  };
  return (
    <>
      <form className="variables-query" onSubmit={run}>
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
        <Button type="submit">Run query</Button>
        {result !== undefined && (
          <Button className="variables-tool" onClick={clear}>
            Clear
          </Button>
        )}
      </form>
      {problem !== undefined && <QueryProblem words={problemWords(problem)} />}
      {result === undefined || problem !== undefined ? children : <ResultView {...result} />}
    </>
  );
}

/** A line of the statement, and a caret below a place in it. They are too long to be wrapped. */
const MARKED_LINE = /^.*\n *\^$/m;

function QueryProblem({ words }: { readonly words: string }) {
  const [line] = MARKED_LINE.exec(words) ?? [""];
  const [before, after = ""] = line === "" ? [words] : words.split(line);
  return (
    <div className="variables-problem" role="alert">
      {before}
      {line !== "" && <pre>{line}</pre>}
      {after.trim()}
    </div>
  );
}

function ResultView({ sql, records }: Result) {
  if (records.count === 0) return <p className="variables-empty">No rows.</p>;
  return (
    <>
      <RecordForms label="Result shown as" records={records} name="result" />
      <SaveResult key={sql} sql={sql} count={records.count} />
    </>
  );
}

function SaveResult({ sql, count }: { readonly sql: string; readonly count: number }) {
  const { conversation } = useConversation().session;
  const [name, setName] = useState("result");
  const [saved, setSaved] = useState<string>();
  const [problem, attempt] = useAttempt();
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    void attempt(async () => {
      // The server runs the query again, so that the variable gets the labels of its sources.
      await conversation.query(sql, { saveAs: name });
      setSaved(name);
    });
  };
  return (
    <form className="variables-query" onSubmit={save}>
      <input
        aria-label="Name of the new variable"
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <button type="submit" className="variables-tool">
        Save {figure(count)} rows as a variable
      </button>
      <span role="status">{saved === undefined ? null : `Saved as $${saved}`}</span>
      <Problem error={problem} />
    </form>
  );
}
