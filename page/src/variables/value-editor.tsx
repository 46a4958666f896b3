import { useQuery } from "@tanstack/react-query";
import { applyEdits, format } from "jsonc-parser";
import { useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Button, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt } from "../hooks.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { codeOf, figure, problemWords } from "../words.ts";
import { Problem } from "./problem.tsx";

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

interface Opened {
  readonly text: string;
  readonly etag: string | undefined;
}

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

async function open(
  { variables }: Session["conversation"],
  { name, type }: VariableInfo,
): Promise<Opened> {
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
