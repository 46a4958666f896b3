import { type DragEvent, useMemo, useState } from "react";
import { useVariableList } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Button, FileButton, download } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt, useNow } from "../hooks.ts";
import { Icon } from "../icon.tsx";
import { bytesInWords, figure, plural } from "../words.ts";
import { Problem } from "./problem.tsx";
import { UploadList, type Uploads, useUploads } from "./uploads.tsx";
import { VariableList } from "./variable-list.tsx";
import { VariableView } from "./variable-view.tsx";
import { useQuery } from "@tanstack/react-query";
import { ageWords } from "./words.ts";

import "./controls.css";
import "./variables.css";
import "./empty-variables.css";

interface VariablesPanelProps {
  /** True if the server knows the conversation. */
  readonly exists: boolean;
  /** Called when a file has been saved as a variable. */
  readonly onSaved: () => void;
  readonly selected: string | undefined;
  readonly onSelect: (name: string | undefined) => void;
}

/** The variables of a conversation: the list, or one of them. Accepts dropped files. */
export function VariablesPanel({ exists, onSaved, selected, onSelect }: VariablesPanelProps) {
  const uploads = useUploads(onSaved);
  const [isOver, setOver] = useState(false);
  // Selected in this panel. The focus moves to the variable and back.
  const [chosen, setChosen] = useState<string>();
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    uploads.add(event.dataTransfer.files);
    onSelect(undefined);
  };
  const over = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  const leave = ({ relatedTarget: to, currentTarget: panel }: DragEvent) => {
    if (!(to instanceof Node) || !panel.contains(to)) setOver(false);
  };
  const handlers = { onDragOver: over, onDragLeave: leave, onDrop: drop };
  return (
    <section className="variables-panel" aria-label="Variables" {...handlers}>
      {selected === undefined ? (
        <Overview
          {...{ exists, uploads, chosen }}
          onSelect={(name) => {
            setChosen(name);
            onSelect(name);
          }}
        />
      ) : (
        <VariableView
          key={selected}
          name={selected}
          takesFocus={selected === chosen}
          onClose={() => onSelect(undefined)}
        />
      )}
      {isOver && <div className="variables-drop">Drop to save as a variable</div>}
    </section>
  );
}

interface OverviewProps {
  readonly exists: boolean;
  readonly chosen: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly uploads: Uploads;
}

const FIRST_SHOWN = 60;

function Overview({ exists, uploads, chosen, onSelect }: OverviewProps) {
  const { conversation } = useConversation().session;
  const [problem, attempt] = useAttempt();
  const [last, setLast] = useState(FIRST_SHOWN);
  const listed = useVariableList(exists ? conversation : undefined, { last });
  const variables = useMemo(() => listed.variables?.toReversed() ?? [], [listed.variables]);
  const pin = ({ name, pinned }: VariableInfo) =>
    void attempt(() => conversation.variables.patch(name, { pinned: !pinned }));
  return (
    <>
      <header className="variables-head">
        <p className="variables-sum">{sumOf(variables, listed.hasMore)}</p>
        <FileButton
          label="Files to save as variables"
          onFiles={uploads.add}
          button={(open) => (
            <Button onClick={open}>
              <Icon name="upload" size={16} />
              Add file
            </Button>
          )}
        />
      </header>
      <UploadList {...uploads} />
      <Problem error={problem ?? listed.error} />
      {(!exists || listed.variables?.length === 0) && (
        <div className="variables-none">
          <Icon name="variables" size={28} />
          <p className="variables-none-title">No variables yet</p>
          <p>Tool results appear here by name: open them as a table, a tree or a chart.</p>
          <p className="variables-none-drop">
            <Icon name="upload" size={16} /> Drop a CSV, JSON or other file to add one.
          </p>
        </div>
      )}
      <VariableList {...{ variables, onSelect }} focused={chosen} onPin={pin} />
      {listed.hasMore && (
        <Button className="variables-more" onClick={() => setLast(last * 4)}>
          Show older ones
        </Button>
      )}
      <FileList />
    </>
  );
}

function sumOf(variables: readonly VariableInfo[], hasMore: boolean): string {
  if (variables.length === 0) return "";
  const count = variables.length;
  const bytes = bytesInWords(variables.reduce((sum, info) => sum + info.bytes, 0));
  return `${hasMore ? `The newest ${figure(count)}` : plural(count, "variable")}, ${bytes}`;
}

/** Lists the conversation's files, for download. Renders nothing without files. */
function FileList() {
  const { link, conversation } = useConversation().session;
  const { data } = useQuery({
    queryKey: ["conversation", conversation.id, "files"],
    queryFn: () => conversation.files.list(),
  });
  const [problem, attempt] = useAttempt();
  const now = useNow(10_000);
  if (data === undefined || data.files.length === 0) return null;
  const save = async (path: string) => {
    const segments = path.split("/");
    const at = `/files/${segments.map(encodeURIComponent).join("/")}`;
    download(await link(conversation.id, at), segments.at(-1) ?? path);
  };
  return (
    <section aria-label="Files">
      <header className="variables-head">
        <p className="variables-sum">
          {data.next === undefined ? "" : "The first "}
          {plural(data.files.length, "file")}
        </p>
      </header>
      <Problem error={problem} />
      <ul className="variables-list">
        {data.files.map(({ path, bytes, mediaType, modified, visibility }) => (
          <li key={path} className="variables-item">
            <Button
              className="variables-open"
              // The server does not serve secret values.
              disabled={visibility === "secret"}
              onClick={() => void attempt(() => save(path))}
            >
              <span className="variables-line">
                <bdi className="variables-name" title={path}>
                  {path}
                </bdi>
                <time className="variables-age" dateTime={modified}>
                  {ageWords(modified, now)}
                </time>
              </span>
              <span className="variables-facts">
                <span>{mediaType}</span>
                <span>{bytesInWords(bytes)}</span>
                {visibility !== "model" && <span className="variables-label">{visibility}</span>}
                {visibility !== "secret" && <Icon name="download" size={14} />}
              </span>
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
