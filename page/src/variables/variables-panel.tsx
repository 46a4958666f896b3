import { type DragEvent, useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { useVariableList } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import {
  Button,
  download,
  FileButton,
  Icon,
  IconButton,
  ListItem,
  moveFocus,
  Problem,
} from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt } from "../hooks.ts";
import { bytesInWords, countWords, figure, plural } from "../words.ts";
import { UploadList, useUploads } from "./uploads.tsx";
import { Labels, LifeBar, VariableName, VariableView } from "./variable-view.tsx";
import "./controls.css";
import "./variables.css";
import "./empty-variables.css";
import "./variable-list.css";

/** The variables of a conversation: the list, or one of them. Accepts dropped files. */
export function VariablesPanel() {
  const { view, open, onBegin } = useConversation();
  const { variable: selected } = view;
  const onSelect = (variable: string | undefined) => open({ variable });
  const uploads = useUploads(onBegin);
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
      <UploadList {...uploads} />
      {selected === undefined ? (
        <Overview
          addFiles={uploads.add}
          chosen={chosen}
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
  readonly chosen: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly addFiles: (files: Iterable<File>) => void;
}

const FIRST_SHOWN = 60;

function Overview({ addFiles, chosen, onSelect }: OverviewProps) {
  const { exists, session } = useConversation();
  const { conversation } = session;
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
        <FileButton className="button" label="Files to save as variables" onFiles={addFiles}>
          <Icon name="upload" size={16} /> Add file
        </FileButton>
      </header>
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
      <ul className="items">
        {data.files.map(({ path, bytes, mediaType, modified, visibility }) => (
          <ListItem
            key={path}
            name={
              <bdi className="item-name" title={path}>
                {path}
              </bdi>
            }
            at={modified}
            // The server does not serve secret values.
            disabled={visibility === "secret"}
            onClick={() => void attempt(() => save(path))}
            facts={
              <>
                <span>{mediaType}</span>
                <span>{bytesInWords(bytes)}</span>
                {visibility !== "model" && <span className="variables-label">{visibility}</span>}
                {visibility !== "secret" && <Icon name="download" size={14} />}
              </>
            }
          />
        ))}
      </ul>
    </section>
  );
}

interface VariableListProps {
  readonly variables: readonly VariableInfo[];
  /** Name of the variable that receives focus when the list appears. */
  readonly focused: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly onPin: (info: VariableInfo) => void;
}

function VariableList({ variables, focused, onSelect, onPin }: VariableListProps) {
  return (
    <ul className="items" onKeyDown={(event) => moveFocus(event, ".item-open")}>
      {variables.map((info) => {
        const { name, pinned, bytes, tool, version, updatedAt } = info;
        return (
          <ListItem
            key={name}
            name={<VariableName name={name} />}
            at={updatedAt}
            autoFocus={name === focused}
            onClick={() => onSelect(name)}
            facts={
              <>
                <span>{countWords(info)}</span>
                <span>{bytesInWords(bytes)}</span>
                {tool !== undefined && <span>{tool}</span>}
                {version > 1 && <span>version {version}</span>}
                <Labels info={info} />
              </>
            }
            beside={
              <IconButton
                isSmall
                className="icon-button icon-small variables-pin"
                icon="pin"
                label={`Pin $${name}`}
                aria-pressed={pinned}
                title={pinned ? "Unpin: it may be removed" : "Pin: it is not removed"}
                onClick={() => onPin(info)}
              />
            }
          >
            <LifeBar info={info} />
          </ListItem>
        );
      })}
    </ul>
  );
}
