import { type DragEvent, useRef, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { Icon } from "../icon.tsx";
import { Problem } from "./problem.tsx";
import { EmptyVariables } from "./empty-variables.tsx";
import { FileList } from "./file-list.tsx";
import { UploadList } from "./upload-list.tsx";
import { useAttempt } from "./use-attempt.ts";
import { useUploads } from "./use-uploads.ts";
import { useVariables } from "./use-variables.ts";
import { VariableList } from "./variable-list.tsx";
import { VariableView } from "./variable-view.tsx";
import { bytesInWords, figure, plural } from "../words.ts";
import "./controls.css";
import "./variables.css";

export interface VariablesPanelProps {
  readonly session: Session;
  /** Grows with every change in the conversation. */
  readonly revision: number;
  readonly selected: string | undefined;
  readonly onSelect: (name: string | undefined) => void;
}

/** The variables of a conversation: the list, or one of them. Files may be dropped anywhere on it. */
export function VariablesPanel(props: VariablesPanelProps) {
  // What was loaded of one conversation is none of another's.
  return <Panel key={props.session.conversation} {...props} />;
}

function Panel({ session, revision, selected, onSelect }: VariablesPanelProps) {
  const listed = useVariables(session, revision);
  const uploads = useUploads(session, listed.reload);
  const [isOver, setOver] = useState(false);
  // Chosen here, not in the conversation: the focus goes along, and comes back.
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
  const leave = (event: DragEvent) => {
    const to = event.relatedTarget;
    if (!(to instanceof Node) || !event.currentTarget.contains(to)) setOver(false);
  };
  return (
    <section
      className="variables-panel"
      aria-label="Variables"
      onDragOver={over}
      onDragLeave={leave}
      onDrop={drop}
    >
      {selected === undefined ? (
        <Overview
          {...{ session, revision, listed, uploads, chosen }}
          onSelect={(name) => {
            setChosen(name);
            onSelect(name);
          }}
        />
      ) : (
        <VariableView
          key={selected}
          session={session}
          name={selected}
          revision={revision}
          takesFocus={selected === chosen}
          onClose={() => onSelect(undefined)}
          onChange={listed.reload}
        />
      )}
      {isOver ? <div className="variables-drop">Drop to save as a variable</div> : null}
    </section>
  );
}

interface OverviewProps extends Pick<VariablesPanelProps, "session" | "revision"> {
  readonly chosen: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly listed: ReturnType<typeof useVariables>;
  readonly uploads: ReturnType<typeof useUploads>;
}

function Overview({ session, revision, listed, uploads, chosen, onSelect }: OverviewProps) {
  const [problem, attempt] = useAttempt();
  const { value, error, reload, showMore } = listed;
  const { variables } = session.client.conversation(session.conversation);
  const pin = async ({ name, pinned }: VariableInfo) => {
    await attempt(() => variables.patch(name, { pinned: !pinned }));
    reload();
  };
  return (
    <>
      <header className="variables-head">
        <p className="variables-sum">{value === undefined ? "" : sumOf(value)}</p>
        <FileButton onFiles={uploads.add} />
      </header>
      <UploadList {...uploads} />
      <Problem error={problem ?? error} />
      {value?.variables.length === 0 ? <EmptyVariables /> : null}
      <VariableList
        variables={value?.variables ?? NONE}
        focused={chosen}
        onSelect={onSelect}
        onPin={(info) => void pin(info)}
      />
      {value?.hasMore === true ? (
        <button type="button" className="variables-more" onClick={showMore}>
          Show older ones
        </button>
      ) : null}
      <FileList session={session} revision={revision} />
    </>
  );
}

const NONE: readonly VariableInfo[] = [];

function sumOf({ variables, hasMore }: { variables: readonly VariableInfo[]; hasMore: boolean }) {
  const count = figure(variables.length);
  const bytes = variables.reduce((sum, info) => sum + info.bytes, 0);
  if (hasMore) return `The newest ${count}, ${bytesInWords(bytes)}`;
  return variables.length === 0
    ? ""
    : `${plural(variables.length, "variable")}, ${bytesInWords(bytes)}`;
}

function FileButton({ onFiles }: { readonly onFiles: (files: Iterable<File>) => void }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className="button" onClick={() => field.current?.click()}>
        <Icon name="upload" size={16} />
        Add file
      </button>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label="Files to save as variables"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </>
  );
}
