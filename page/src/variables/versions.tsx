import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ClientError } from "../../../packages/client/src/client.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Button, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { changedLines, DiffLines } from "../diff-lines.tsx";
import { useAttempt } from "../hooks.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { Problem } from "./problem.tsx";
import "./versions.css";

interface InfoProps {
  readonly info: VariableInfo;
}

/** Longer values are not compared. */
const MAX_COMPARED_CHARS = 200_000;
/** Settings may keep more; of those, the newest are listed. */
const MOST_VERSIONS = 5;

/** True for records that are read from a file. */
export function isFile({ type, mediaType }: VariableInfo): boolean {
  return type === "array" && mediaType.startsWith("text/");
}

/** Opens a version; records that are read from a file as that file. */
export function openWhole(
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
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) break;
    text += value;
    if (text.length > MAX_COMPARED_CHARS) return void reader?.cancel();
  }
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
export function EarlierVersions({ info }: InfoProps): ReactNode {
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
export function Staleness({ info: { name, stale } }: InfoProps): ReactNode {
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
