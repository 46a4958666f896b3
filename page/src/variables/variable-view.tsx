import { type FormEvent, type ReactNode, useState } from "react";
import { useVariableInfo } from "../../../packages/client/src/react.ts";
import { limits } from "../../../src/references.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import {
  Button,
  Confirm,
  CopyButton,
  download,
  Fact,
  IconButton,
  SubmitButtons,
} from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt, useNow } from "../hooks.ts";
import { Icon, type IconName } from "../icon.tsx";
import { SaveProgram } from "../programs/save-program.tsx";
import type { Session } from "../session.ts";
import { bytesInWords, codeOf, problemWords } from "../words.ts";
import { Problem } from "./problem.tsx";
import { isEditable, ValueEditor } from "./value-editor.tsx";
import { ValueView } from "./value-view.tsx";
import { EarlierVersions, isFile, openWhole, Staleness } from "./versions.tsx";
import { Labels, LifeBar, VariableName } from "./variable-list.tsx";
import { ageWords, countWords, durationWords, fileName, lifeOf, secondsIn } from "./words.ts";
import "./variable-view.css";

interface VariableViewProps {
  readonly name: string;
  readonly takesFocus: boolean;
  readonly onClose: () => void;
}

/** A variable: its metadata, value and actions. */
export function VariableView({ name, takesFocus, onClose }: VariableViewProps) {
  const { info, error } = useVariableInfo(useConversation().session.conversation, name);
  const isGone = ["variable_not_found", "variable_evicted"].includes(codeOf(error) ?? "");
  return (
    <article className="variables-one" aria-label={`Variable ${name}`}>
      <header className="variables-title">
        <IconButton
          className="variables-action"
          icon="back"
          label="All variables"
          size={16}
          autoFocus={takesFocus}
          onClick={onClose}
        />
        <h2>
          <VariableName name={name} />
        </h2>
        <CopyButton text={`$${name}`} />
      </header>
      {error !== undefined && (
        <p className={isGone ? "variables-empty" : "variables-problem"} role="alert">
          {problemWords(error)}
        </p>
      )}
      {info !== undefined && <VariableBody info={info} onClose={onClose} />}
    </article>
  );
}

interface InfoProps {
  readonly info: VariableInfo;
}

type Doing = "view" | "edit" | "settings" | "program" | "delete";

function VariableBody({ info, onClose }: InfoProps & { readonly onClose: () => void }) {
  const [doing, setDoing] = useState<Doing>("view");
  const view = () => setDoing("view");
  return (
    <>
      <VariableFacts info={info} />
      <Staleness info={info} />
      <VariableActions {...{ info, doing, onClose }} onDo={setDoing} />
      {doing === "settings" && <VariableSettings info={info} onDone={view} />}
      {doing === "edit" ? (
        <ValueEditor info={info} onDone={view} />
      ) : (
        // A new value resets the view.
        <ValueView key={`${info.version}/${info.updatedAt}`} info={info} />
      )}
    </>
  );
}

/** Metadata of a variable. */
function VariableFacts({ info }: InfoProps) {
  const now = useNow(1_000);
  const { description, bytes, updatedAt, version } = info;
  const age = ageWords(updatedAt, now);
  return (
    <div className="variables-about">
      <p className="variables-facts">
        <span>{countWords(info)}</span>
        <span>{bytesInWords(bytes)}</span>
        <span>
          version {version},{" "}
          <time dateTime={updatedAt}>{age === "now" ? "just now" : `${age} ago`}</time>
        </span>
        <Labels info={info} />
      </p>
      <LifeBar info={info} now={now} />
      {description !== undefined && <p className="variables-description">{description}</p>}
      <details className="variables-more-facts">
        <summary>Source</summary>
        <Origin info={info} now={now} />
      </details>
      <EarlierVersions info={info} />
    </div>
  );
}

const IDLE = `after ${limits.variableIdleMs / 3_600_000} hours without use`;

const LOCATIONS = {
  row: "SQLite row",
  chunks: "SQLite rows of its chunks",
  r2: "bucket",
  messages: "message",
} as const;

const SEEN_BY = {
  model: "you and the model",
  sealed: "you; the model knows its name, type and count",
  secret: "only tools that list it",
} as const;

function Origin({ info, now }: InfoProps & { readonly now: number }) {
  const { tool, input, sources, trusted, shape, mediaType, location, pinned, visibility } = info;
  return (
    <dl className="variables-origin">
      <Fact name="Tool">{tool}</Fact>
      <Fact name="Called with">{input && <code>{JSON.stringify(input)}</code>}</Fact>
      <Fact name="Sources">
        {sources.join(", ")}
        {trusted ? "" : ", untrusted"}
      </Fact>
      <Fact name="Shape">{shape === "" ? undefined : <code>{shape}</code>}</Fact>
      <Fact name="Media type">{mediaType}</Fact>
      <Fact name="Visible to">{SEEN_BY[visibility]}</Fact>
      <Fact name="Stored in">{LOCATIONS[location]}</Fact>
      <Fact name="Expires">{lifeOf(info, now)?.words ?? (pinned ? "never (pinned)" : IDLE)}</Fact>
    </dl>
  );
}

interface VariableActionsProps extends InfoProps {
  readonly doing: Doing;
  readonly onDo: (doing: Doing) => void;
  readonly onClose: () => void;
}

function VariableActions({ info, doing, onDo, onClose }: VariableActionsProps) {
  const { session } = useConversation();
  const [problem, attempt] = useAttempt();
  const { name, pinned, tool, visibility } = info;
  const { variables } = session.conversation;
  const remove = async () => {
    await variables.delete(name);
    onClose();
  };
  const toggle = (what: Doing) => {
    return { isOn: doing === what, onClick: () => onDo(doing === what ? "view" : what) };
  };
  return (
    <>
      <div className="variables-actions">
        {isEditable(info) && (
          <Action icon="edit" {...toggle("edit")}>
            Edit
          </Action>
        )}
        {visibility !== "secret" && (
          <Action icon="download" onClick={() => void attempt(() => save(session, info))}>
            Download
          </Action>
        )}
        <Action
          icon="pin"
          isOn={pinned}
          onClick={() => void attempt(() => variables.patch(name, { pinned: !pinned }))}
        >
          {pinned ? "Pinned" : "Pin"}
        </Action>
        <Action icon="settings" {...toggle("settings")}>
          Settings
        </Action>
        {tool !== undefined && (
          <Action icon="run" {...toggle("program")}>
            Save as program
          </Action>
        )}
        <Action icon="trash" {...toggle("delete")}>
          Delete
        </Action>
      </div>
      {doing === "program" && <SaveProgram from={`$${name}`} onClose={() => onDo("view")} />}
      {doing === "delete" && (
        <Confirm
          title={`Delete $${name}?`}
          text="References to it stop working. This cannot be undone."
          word="Delete"
          onYes={() => void attempt(remove)}
          onNo={() => onDo("view")}
        />
      )}
      <Problem error={problem} />
    </>
  );
}

interface ActionProps {
  readonly icon: IconName;
  readonly isOn?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Action({ icon, isOn, onClick, children }: ActionProps) {
  return (
    <Button className="variables-tool" aria-pressed={isOn} onClick={onClick}>
      <Icon name={icon} size={16} />
      {children}
    </Button>
  );
}

/** Time for the browser to begin the download. */
const URL_MS = 60_000;

/** Downloads the value. Records that are read from a file are downloaded as that file; a link would get their JSON. */
async function save(session: Session, info: VariableInfo): Promise<void> {
  if (!isFile(info)) {
    const { id } = session.conversation;
    const href = await session.link(id, `/variables/${encodeURIComponent(info.name)}`);
    return download(href, fileName(info));
  }
  const url = URL.createObjectURL(await (await openWhole(session, info)).blob());
  setTimeout(() => URL.revokeObjectURL(url), URL_MS);
  return download(url, fileName(info));
}

const MAX_DESCRIPTION_CHARS = 500;

/** Form for a variable's lifetime and description. */
function VariableSettings({ info, onDone }: InfoProps & { readonly onDone: () => void }) {
  const { variables } = useConversation().session.conversation;
  const { name, expiresAt, description = "" } = info;
  const before = expiresAt === undefined ? "" : durationWords(Date.parse(expiresAt) - Date.now());
  const [life, setLife] = useState(before);
  const [text, setText] = useState(description);
  const [problem, attempt] = useAttempt();
  const save = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => {
      const ttl = secondsIn(life);
      if (ttl === undefined) {
        throw new Error("Write a time as 90 s, 15 min, 2 h or 3 d, or nothing.");
      }
      const changes = {
        ...(life === before ? {} : { ttl }),
        ...(text === description ? {} : { description: text }),
      };
      if (Object.keys(changes).length > 0) await variables.patch(name, changes);
      onDone();
    });
  };
  return (
    <form className="variables-form" onSubmit={save}>
      <label>
        Expires in
        <input
          value={life}
          placeholder="never, while it is used"
          onChange={({ target }) => setLife(target.value)}
        />
      </label>
      <label>
        Description
        <input
          value={text}
          maxLength={MAX_DESCRIPTION_CHARS}
          placeholder="What is it?"
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <Problem error={problem} />
      <SubmitButtons word="Save" onCancel={onDone} />
    </form>
  );
}
