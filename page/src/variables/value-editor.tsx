import { applyEdits, format } from "jsonc-parser";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { ClientError } from "../../../packages/client/src/client.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { Problem } from "./problem.tsx";
import { problemWords } from "./problem-words.ts";
import { bytesInWords, figure } from "../words.ts";

interface ValueEditorProps {
  readonly session: Session;
  readonly info: VariableInfo;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** Larger values are not editable, because text fields become slow. */
const MAX_EDITED_BYTES = 1_000_000;

/** Returns the reason why a variable cannot be edited, or undefined. */
export function whyNotEdited({ type, bytes, visibility, name }: VariableInfo): string | undefined {
  if (visibility === "secret") return "It is secret.";
  if (name === "input") return "It is what came with a message.";
  if (type === "bytes") return "It is neither text nor JSON.";
  return bytes > MAX_EDITED_BYTES
    ? `It is larger than ${bytesInWords(MAX_EDITED_BYTES)}.`
    : undefined;
}

interface Opened {
  readonly text: string;
  readonly etag: string | undefined;
}

/** Loads the value once, and saves it with If-Match, so that concurrent writes are not lost. */
export function ValueEditor({ session, info, onDone, onCancel }: ValueEditorProps) {
  const key = ["conversation", session.conversation, "edited", info.name];
  const load = { queryKey: key, queryFn: () => open(session, info) };
  const { data, error, refetch } = useQuery({ ...load, ...unchanging, gcTime: 0 });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <p className="variables-wait">Loading…</p>;
  return (
    <EditorField
      key={data.etag}
      {...{ session, info, onDone, onCancel }}
      opened={data}
      onReload={() => void refetch()}
    />
  );
}

async function open(session: Session, { name, type }: VariableInfo): Promise<Opened> {
  const { variables } = session.client.conversation(session.conversation);
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

function EditorField(props: EditorFieldProps) {
  const { session, info, opened, onDone, onCancel, onReload } = props;
  const [text, setText] = useState(opened.text);
  const [problem, setProblem] = useState<string>();
  const [isLost, setLost] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const fault = info.type === "string" ? undefined : faultIn(text);
  const save = async (etag: string | undefined) => {
    setBusy(true);
    try {
      await put(session, info, { text, etag });
      return onDone();
    } catch (error) {
      setBusy(false);
      setLost(error instanceof ClientError && error.code === "precondition_failed");
      setProblem(problemWords(error));
    }
    return undefined;
  };
  return (
    <div className="variables-editor">
      <textarea
        aria-label={`The value of $${info.name}`}
        aria-invalid={fault !== undefined}
        spellCheck={info.type === "string"}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <p className="variables-hint" aria-live="polite">
        {fault ?? `${figure(text.length)} characters${info.type === "string" ? "" : ", JSON"}`}
      </p>
      {isLost ? (
        <div className="variables-confirm" role="alert">
          <p>${info.name} has been changed since you opened it.</p>
          <button type="button" className="button" onClick={onReload}>
            Load what is there now
          </button>
          <button type="button" className="button button-bad" onClick={() => void save(undefined)}>
            Overwrite it with mine
          </button>
        </div>
      ) : null}
      {isLost ? null : <Problem error={problem} />}
      <div className="variables-buttons">
        <button
          type="button"
          className="button button-main"
          disabled={fault !== undefined || isBusy || text === opened.text}
          onClick={() => void save(opened.etag)}
        >
          Save
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
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

async function put(session: Session, info: VariableInfo, { text, etag }: Opened): Promise<void> {
  const contentType = info.type === "string" ? "text/plain" : "application/json";
  const { variables } = session.client.conversation(session.conversation);
  await variables.put(info.name, new Blob([text]), {
    contentType,
    ...(etag === undefined ? {} : { ifMatch: etag }),
  });
}
