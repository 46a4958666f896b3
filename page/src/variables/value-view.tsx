import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { applyEdits, format } from "jsonc-parser";
import { useVariable } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Button, Code, Form, isOfInputMethod, Problem, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";
import { bytesInWords, codeOf, figure, isShownImage, problemWords } from "../words.ts";
import { JsonTree } from "./json-tree.tsx";
import { heldRecords, RecordForms } from "./record-table.tsx";
import { type Records, useRecords, versionKey } from "./use-records.ts";
import { useAttempt } from "../hooks.ts";
import type { Session } from "../session.ts";
import "./query-box.css";

interface ValueViewProps {
  readonly info: VariableInfo;
}

/** Shows a value in the view that suits its type. */
export function ValueView({ info }: ValueViewProps) {
  const { type, visibility, mediaType, bytes, count } = info;
  if (visibility === "secret") {
    return (
      <p className="variables-empty">This value is secret. Only tools that list it receive it.</p>
    );
  }
  if (type === "bytes" && isShownImage(mediaType)) return <ImageView info={info} />;
  if (type === "bytes") {
    return (
      <p className="variables-empty">
        {bytesInWords(bytes)} of {mediaType}. Download it to look inside.
      </p>
    );
  }
  if (type === "string") return <TextView info={info} />;
  return type === "array" && count > 0 ? <ArrayView info={info} /> : <JsonView info={info} />;
}

function ImageView({ info: { name, description = `$${name}` } }: ValueViewProps) {
  const { link, conversation } = useConversation().session;
  // The link is valid for a minute.
  const { data, error } = useQuery({
    queryKey: ["link", conversation.id, name],
    queryFn: () => link(conversation.id, `/variables/${encodeURIComponent(name)}`),
    ...unchanging,
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return null;
  return <img className="variables-image" src={data} alt={description} />;
}

/** Characters per request. */
const PAGE_CHARS = 20_000;

/** Shows a text in pages. */
function TextView({ info }: ValueViewProps) {
  const { name, count } = info;
  const { conversation } = useConversation().session;
  const { data, error, fetchNextPage } = useInfiniteQuery({
    queryKey: [...versionKey(conversation, info), "text"],
    queryFn: ({ pageParam: offset }) =>
      conversation.variables.get<string>(name, { offset, limit: PAGE_CHARS }),
    initialPageParam: 0,
    getNextPageParam: (_, pages) => pages.length * PAGE_CHARS,
    enabled: count > 0,
    ...unchanging,
  });
  const pages = data?.pages ?? [];
  const shown = Math.min(count, pages.length * PAGE_CHARS);
  const next = Math.min(PAGE_CHARS, count - shown);
  return (
    <div className="variables-value">
      <Code className="variables-text" label={`The text of $${name}`}>
        {pages.join("")}
      </Code>
      <Problem error={error} />
      {next > 0 && shown > 0 && (
        <Button className="variables-more" onClick={() => void fetchNextPage()}>
          Show {figure(next)} more characters ({figure(shown)} of {figure(count)})
        </Button>
      )}
    </div>
  );
}

/** Larger values are not shown as a tree. */
const MAX_TREE_BYTES = 16_777_216;

function JsonView({ info: { name, bytes } }: ValueViewProps) {
  const { conversation } = useConversation().session;
  const isSmall = bytes <= MAX_TREE_BYTES;
  const { value, error } = useVariable(isSmall ? conversation : undefined, name);
  if (!isSmall) {
    return <p className="variables-empty">{bytesInWords(bytes)} are too much to be shown whole.</p>;
  }
  if (error !== undefined) return <Problem error={error} />;
  if (value === undefined) return <p className="variables-wait">Loading…</p>;
  return <JsonTree value={value} root={`$${name}`} />;
}

function ArrayView({ info }: ValueViewProps) {
  const records = useRecords(info);
  const { need, rows, error } = records;
  useEffect(() => {
    need(0, 1);
  }, [need]);
  if (rows.length === 0) {
    const wait = <p className="variables-wait">Loading…</p>;
    return error === undefined ? wait : <Problem error={error} />;
  }
  const tree = info.bytes <= MAX_TREE_BYTES ? <JsonView info={info} /> : undefined;
  return (
    <div className="variables-value">
      <Problem error={error} />
      <QueryBox name={info.name}>
        <RecordForms {...{ records, tree }} name={info.name} />
      </QueryBox>
    </div>
  );
}

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
function QueryBox({ name, children }: QueryBoxProps) {
  const { conversation } = useConversation().session;
  const [sql, setSql] = useState("");
  const [result, setResult] = useState<Result>();
  const [problem, attempt] = useAttempt();
  const run = () => {
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
      <Form className="variables-query" onSubmit={run}>
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
            if (event.key !== "Enter" || event.shiftKey || isOfInputMethod(event)) return;
            event.preventDefault();
            run();
          }}
        />
        <Button type="submit">Run query</Button>
        {result !== undefined && (
          <Button className="variables-tool" onClick={clear}>
            Clear
          </Button>
        )}
      </Form>
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
  const save = () =>
    void attempt(async () => {
      // The server runs the query again, so that the variable gets the labels of its sources.
      await conversation.query(sql, { saveAs: name });
      setSaved(name);
    });
  return (
    <Form className="variables-query" onSubmit={save}>
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
    </Form>
  );
}

interface ValueEditorProps {
  readonly info: VariableInfo;
  readonly onDone: () => void;
}

/** Larger values are not editable, because text fields become slow. */
const MAX_EDITED_BYTES = 1_000_000;

/** False for secrets, for what came with a message, and for values that are neither text nor JSON or too large. */
export function isEditable({ type, bytes, visibility, name }: VariableInfo): boolean {
  const isText = type !== "bytes" && bytes <= MAX_EDITED_BYTES;
  return isText && visibility !== "secret" && name !== "input";
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Loads the value once, and saves it with If-Match, so that concurrent writes are not lost. */
export function ValueEditor({ info, onDone }: ValueEditorProps) {
  const { conversation } = useConversation().session;
  const key = ["conversation", conversation.id, "edited", info.name];
  const load = { queryKey: key, queryFn: () => open(conversation, info) };
  const { data, error, refetch } = useQuery({ ...load, ...unchanging, gcTime: 0 });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <p className="variables-wait">Loading…</p>;
  const reload = () => void refetch();
  return <EditorField key={data.etag} {...{ info, onDone }} opened={data} onReload={reload} />;
}

async function open({ variables }: Session["conversation"], { name, type }: VariableInfo) {
  const response = await variables.open(name);
  const written = await response.text();
  const isText = type === "string" && response.headers.get("content-type")?.startsWith("text/");
  const text = isText === true ? written : indented(written);
  return { text, etag: response.headers.get("etag") ?? undefined };
}

/** Indents JSON. Its numbers keep their digits, which parsing would round. */
function indented(json: string): string {
  return applyEdits(json, format(json, undefined, { insertSpaces: true, tabSize: 2 }));
}

interface EditorFieldProps extends ValueEditorProps {
  readonly opened: Opened;
  readonly onReload: () => void;
}

function EditorField({ info, opened, onDone, onReload }: EditorFieldProps) {
  const { variables } = useConversation().session.conversation;
  const [text, setText] = useState(opened.text);
  const [problem, attempt, , isBusy] = useAttempt();
  const isString = info.type === "string";
  const fault = isString ? undefined : faultIn(text);
  const isLost = codeOf(problem) === "precondition_failed";
  const save = (etag: string | undefined) =>
    void attempt(async () => {
      const contentType = isString ? "text/plain" : "application/json";
      const guard = etag === undefined ? {} : { ifMatch: etag };
      await variables.put(info.name, new Blob([text]), { contentType, ...guard });
      onDone();
    });
  return (
    <div className="variables-editor">
      <textarea
        aria-label={`The value of $${info.name}`}
        aria-invalid={fault !== undefined}
        spellCheck={isString}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <p className="variables-hint" aria-live="polite">
        {fault ?? `${figure(text.length)} characters${isString ? "" : ", JSON"}`}
      </p>
      {isLost ? (
        <div className="variables-confirm" role="alert">
          <p>${info.name} has been changed since you opened it.</p>
          <Button onClick={onReload}>Load what is there now</Button>
          <Button className="button button-bad" onClick={() => save(undefined)}>
            Overwrite it with mine
          </Button>
        </div>
      ) : (
        <Problem error={problem} />
      )}
      <SubmitButtons
        word="Save"
        isOff={fault !== undefined || isBusy || text === opened.text}
        onClick={() => save(opened.etag)}
        onCancel={onDone}
      />
    </div>
  );
}

/** Returns the syntax error in a JSON text. */
function faultIn(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `Not JSON yet: ${problemWords(error)}`;
  }
}
