import { type ReactNode, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { useVariableInfo } from "../../../packages/client/src/react.ts";
import { limits } from "../../../src/references.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import {
  Button,
  Confirm,
  CopyButton,
  download,
  Fact,
  Form,
  Icon,
  IconButton,
  type IconName,
  Problem,
  SubmitButtons,
} from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt, useNow } from "../hooks.ts";
import { SaveProgram } from "../programs/programs.tsx";
import { beginningOf, type Session } from "../session.ts";
import {
  ageWords,
  bytesInWords,
  codeOf,
  countWords,
  durationWords,
  fileName,
  labelsOf,
  lifeOf,
  problemWords,
  secondsIn,
} from "../words.ts";
import { isEditable, ValueEditor, ValueView } from "./value-view.tsx";
import { ClientError } from "../../../packages/client/src/client.ts";
import { changedLines, DiffLines } from "../diff-lines.tsx";
import { unchanging } from "../queries.ts";
import "./variable-view.css";
import "./versions.css";

interface VariableViewProps {
  readonly name: string;
  readonly takesFocus: boolean;
  readonly onClose: () => void;
}

/** A variable: its metadata, value and actions. */
export function VariableView({ name, takesFocus, onClose }: VariableViewProps) {
  const { info, error } = useVariableInfo(useConversation().session.conversation, name);
  const [doing, setDoing] = useState<Doing>("view");
  const view = () => setDoing("view");
  const isGone = ["variable_not_found", "variable_evicted"].includes(codeOf(error) ?? "");
  return (
    <article className="variables-one" aria-label={`Variable ${name}`}>
      <header className="variables-title">
        <IconButton
          isSmall
          icon="back"
          label="All variables"
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
      {info !== undefined && (
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
      )}
    </article>
  );
}

interface InfoProps {
  readonly info: VariableInfo;
}

type Doing = "view" | "edit" | "settings" | "program" | "delete";

/** Metadata of a variable. */
function VariableFacts({ info }: InfoProps) {
  const now = useNow(1_000);
  const { description, bytes, updatedAt, version } = info;
  const age = ageWords(updatedAt, now);
  return (
    <div className="variables-about">
      <p className="item-facts">
        <span>{countWords(info)}</span>
        <span>{bytesInWords(bytes)}</span>
        <span>
          version {version},{" "}
          <time dateTime={updatedAt}>{age === "now" ? "just now" : `${age} ago`}</time>
        </span>
        <Labels info={info} />
      </p>
      <LifeBar info={info} />
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
    <dl className="facts">
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

interface Action {
  readonly icon: IconName;
  readonly word: string;
  readonly isOn?: boolean;
  readonly onClick: () => void;
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
  const pin = () => void attempt(() => variables.patch(name, { pinned: !pinned }));
  const toggle = (what: Doing) => {
    return { isOn: doing === what, onClick: () => onDo(doing === what ? "view" : what) };
  };
  const actions: readonly (Action | false)[] = [
    isEditable(info) && { icon: "edit", word: "Edit", ...toggle("edit") },
    visibility !== "secret" && {
      icon: "download",
      word: "Download",
      onClick: () => void attempt(() => save(session, info)),
    },
    { icon: "pin", word: pinned ? "Pinned" : "Pin", isOn: pinned, onClick: pin },
    { icon: "settings", word: "Settings", ...toggle("settings") },
    tool !== undefined && { icon: "run", word: "Save as program", ...toggle("program") },
    { icon: "trash", word: "Delete", ...toggle("delete") },
  ];
  return (
    <>
      <div className="variables-actions">
        {actions.map(
          (one) =>
            one && (
              <Button
                key={one.icon}
                className="variables-tool"
                aria-pressed={one.isOn}
                onClick={one.onClick}
              >
                <Icon name={one.icon} size={16} />
                {one.word}
              </Button>
            ),
        )}
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
  const [problem, attempt] = useAttempt();
  const save = (given: FormData) =>
    void attempt(async () => {
      const [life, text] = [String(given.get("life")), String(given.get("description"))];
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
  return (
    <Form className="variables-form" onSubmit={save}>
      <label>
        Expires in
        <input name="life" defaultValue={before} placeholder="never, while it is used" />
      </label>
      <label>
        Description
        <input
          name="description"
          defaultValue={description}
          maxLength={MAX_DESCRIPTION_CHARS}
          placeholder="What is it?"
        />
      </label>
      <Problem error={problem} />
      <SubmitButtons word="Save" onCancel={onDone} />
    </Form>
  );
}

/** Longer values are not compared. */
const MAX_COMPARED_CHARS = 200_000;
/** Settings may keep more; of those, the newest are listed. */
const MOST_VERSIONS = 5;

/** True for records that are read from a file. */
function isFile({ type, mediaType }: VariableInfo): boolean {
  return type === "array" && mediaType.startsWith("text/");
}

/** Opens a version; records that are read from a file as that file. */
function openWhole(
  { conversation }: Session,
  info: VariableInfo,
  version?: number,
): Promise<Response> {
  const part = version === undefined ? {} : { version };
  const headers = isFile(info) ? { accept: info.mediaType } : {};
  return conversation.variables.open(info.name, part, headers);
}

interface Version {
  readonly version: number;
  /** Undefined if it is too large to compare. */
  readonly text?: string | undefined;
}

async function textOf(response: Response): Promise<string | undefined> {
  const { text, isWhole } = await beginningOf(response, MAX_COMPARED_CHARS);
  if (!isWhole) return undefined;
  if (response.headers.get("content-type")?.startsWith("application/json") !== true) return text;
  // One line for each value; parsed numbers could have other digits.
  return text.replaceAll(STRING_OR_BREAK, (part) => (part.startsWith('"') ? part : `${part}\n`));
}

const STRING_OR_BREAK = /"(?:[^"\\]|\\.)*"|[[{,]/g;

/** The newest first; those that are kept follow each other. */
async function versionsOf(session: Session, info: VariableInfo): Promise<readonly Version[]> {
  const all = [{ version: info.version, text: await textOf(await openWhole(session, info)) }];
  for (let { version } = info; --version > 0 && all.length <= MOST_VERSIONS;) {
    try {
      all.push({ version, text: await textOf(await openWhole(session, info, version)) });
    } catch (error) {
      if (error instanceof ClientError && error.status === 404) break;
      throw error;
    }
  }
  return all;
}

/** Lists the earlier versions that are kept, with what was changed after each, and restores one. */
function EarlierVersions({ info }: InfoProps): ReactNode {
  const { session } = useConversation();
  const [isOpen, setOpen] = useState(false);
  const [problem, attempt] = useAttempt();
  const { conversation } = session;
  const { name, version: newest, updatedAt, visibility, readOnly } = info;
  const { data, error } = useQuery({
    queryKey: ["conversation", conversation.id, "versions", name, newest, updatedAt],
    queryFn: () => versionsOf(session, info),
    enabled: isOpen,
    ...unchanging,
  });
  if (newest === 1 || visibility === "secret" || readOnly === true) return null;
  const restore = async (version: number) => {
    const response = await openWhole(session, info, version);
    const contentType = response.headers.get("content-type") ?? "application/octet-stream";
    await conversation.variables.put(
      name,
      new Blob([await response.blob()], { type: contentType }),
    );
  };
  const [, ...earlier] = data ?? [];
  return (
    <details
      className="variables-more-facts"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>Earlier versions</summary>
      {data !== undefined && earlier.length === 0 && <p className="tool-note">None is kept.</p>}
      <ol className="versions">
        {earlier.map(({ version, text }, index) => (
          <li key={version}>
            <span>Version {version}</span>
            <Button className="link-button" onClick={() => void attempt(() => restore(version))}>
              Restore
            </Button>
            <Changes from={version} before={text} after={data?.[index]?.text} />
          </li>
        ))}
      </ol>
      <Problem error={problem ?? error} />
    </details>
  );
}

interface ChangesProps {
  readonly from: number;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

function Changes({ from, before, after }: ChangesProps): ReactNode {
  if (before === undefined || after === undefined)
    return <p className="tool-note">It is too large to be compared.</p>;
  return before === after ? (
    <p className="tool-note">Version {from + 1} is the same.</p>
  ) : (
    <DiffLines label={`Changes after version ${from}`} lines={changedLines(before, after)} />
  );
}

/** Shows what a stale value is made of, and makes it again, after it has shown the calls. */
function Staleness({ info: { name, stale } }: InfoProps): ReactNode {
  const { plans } = useConversation().session.conversation;
  const [planned, setPlanned] = useState<Awaited<ReturnType<typeof plans.recomputation>>>();
  const [problem, attempt] = useAttempt();
  if (stale === undefined) return null;
  const olds = stale.madeOf.map((one) => `$${one.name} ${one.version} (now ${one.now})`);
  const run = async () => {
    setPlanned(undefined);
    const result = await plans.recompute([name]).json();
    if ("status" in result && result.status === "failed")
      throw new Error(`It could not be made again. ${result.error ?? ""}`);
  };
  return (
    <section className="variables-form" aria-label="Stale">
      <p className="tool-note">Made of older versions: {olds.join(", ")}.</p>
      {planned === undefined ? (
        <Button
          onClick={() => void attempt(async () => setPlanned(await plans.recomputation([name])))}
        >
          Recompute…
        </Button>
      ) : (
        <>
          <ol className="versions">
            {planned.calls.map((call) => (
              <li key={call._id}>
                <code>{call._tool}</code> {EFFECTS[call.effects]}
                {call.approval !== undefined && `, asks a person (${call.approval})`}
              </li>
            ))}
            {planned.left.map((left) => (
              <li key={left.name}>
                <code>${left.name}</code> stays: {left.reason}
              </li>
            ))}
          </ol>
          <SubmitButtons
            word="Run these calls"
            isOff={planned.calls.length === 0}
            onClick={() => void attempt(run)}
            onCancel={() => setPlanned(undefined)}
          />
        </>
      )}
      <Problem error={problem} />
    </section>
  );
}

const EFFECTS = {
  none: "only reads",
  idempotent: "changes something, once",
  once: "changes something",
} as const;

export function VariableName({ name }: { readonly name: string }) {
  return (
    <span className="item-name variables-name" title={`$${name}`}>
      ${name}
    </span>
  );
}

export function Labels({ info }: { readonly info: VariableInfo }) {
  return labelsOf(info).map(({ name, meaning, isWarning }) => (
    <span
      key={name}
      className={`variables-label${isWarning ? " variables-warning" : ""}`}
      title={meaning}
    >
      {name}
    </span>
  ));
}

const NEARLY_OVER = 0.2;

/** Shows the remaining lifetime. */
export function LifeBar({ info }: InfoProps) {
  const life = lifeOf(info, useNow(1_000));
  if (life === undefined) return null;
  return (
    <span className="variables-life" title={life.words}>
      <span
        className={`variables-left${life.left < NEARLY_OVER ? " variables-short" : ""}`}
        style={{ transform: `scaleX(${life.left})` }}
      />
      <span className="unseen">, {life.words}</span>
    </span>
  );
}
