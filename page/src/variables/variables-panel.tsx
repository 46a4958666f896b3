import { type DragEvent, useMemo, useRef, useState } from "react";
import { useVariableList } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { Icon } from "../icon.tsx";
import { Problem } from "./problem.tsx";
import { EmptyVariables } from "./empty-variables.tsx";
import { FileList } from "./file-list.tsx";
import { UploadList } from "./upload-list.tsx";
import { useAttempt } from "./use-attempt.ts";
import { useUploads } from "./use-uploads.ts";
import { VariableList } from "./variable-list.tsx";
import { VariableView } from "./variable-view.tsx";
import { bytesInWords, figure, plural } from "../words.ts";
import "./controls.css";
import "./variables.css";

export interface VariablesPanelProps {
  readonly session: Session;
  /** True if the server knows the conversation. */
  readonly exists: boolean;
  /** Called when a file has been saved as a variable. */
  readonly onKept: () => void;
  readonly selected: string | undefined;
  readonly onSelect: (name: string | undefined) => void;
}

/** The variables of a conversation: the list, or one of them. Accepts dropped files. */
export function VariablesPanel(props: VariablesPanelProps) {
  // A new key discards the state of the previous conversation.
  return <Panel key={props.session.conversation} {...props} />;
}

function Panel({ session, exists, onKept, selected, onSelect }: VariablesPanelProps) {
  const uploads = useUploads(session, onKept);
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
          {...{ session, exists, uploads, chosen }}
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
          takesFocus={selected === chosen}
          onClose={() => onSelect(undefined)}
        />
      )}
      {isOver ? <div className="variables-drop">Drop to save as a variable</div> : null}
    </section>
  );
}

interface OverviewProps extends Pick<VariablesPanelProps, "session" | "exists"> {
  readonly chosen: string | undefined;
  readonly onSelect: (name: string) => void;
  readonly uploads: ReturnType<typeof useUploads>;
}

const FIRST_SHOWN = 60;

function Overview({ session, exists, uploads, chosen, onSelect }: OverviewProps) {
  const [problem, attempt] = useAttempt();
  const [last, setLast] = useState(FIRST_SHOWN);
  const conversation = session.client.conversation(session.conversation);
  const listed = useVariableList(exists ? conversation : undefined, { last });
  const { hasMore, error } = listed;
  const variables = useMemo(() => listed.variables?.toReversed() ?? NONE, [listed.variables]);
  const isEmpty = !exists || listed.variables?.length === 0;
  const pin = ({ name, pinned }: VariableInfo) =>
    attempt(() => conversation.variables.patch(name, { pinned: !pinned }));
  return (
    <>
      <header className="variables-head">
        <p className="variables-sum">{sumOf(variables, hasMore)}</p>
        <FileButton onFiles={uploads.add} />
      </header>
      <UploadList {...uploads} />
      <Problem error={problem ?? error} />
      {isEmpty ? <EmptyVariables /> : null}
      <VariableList
        variables={variables}
        focused={chosen}
        onSelect={onSelect}
        onPin={(info) => void pin(info)}
      />
      {hasMore ? (
        <button type="button" className="variables-more" onClick={() => setLast(last * 4)}>
          Show older ones
        </button>
      ) : null}
      <FileList session={session} />
    </>
  );
}

const NONE: readonly VariableInfo[] = [];

function sumOf(variables: readonly VariableInfo[], hasMore: boolean): string {
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
