import { useQuery } from "@tanstack/react-query";
import { getToolName } from "ai";
import { type ReactNode, useId, useState } from "react";
import {
  formatPath,
  type Json,
  type Lookup,
  referencesIn,
  resolveReferences,
} from "../../../src/references.ts";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { Button, Code, DecisionForm, Icon, Problem } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { planName } from "../plans/call-state.tsx";
import { unchanging } from "../queries.ts";
import { type AskingPart, handleIn, LARGE_BYTES, type ToolPart } from "./tool-part.ts";
import { bytesInWords, figure, jsonIn, plural, problemWords, shortened } from "../words.ts";
import type { Decision } from "../../../packages/client/src/client.ts";
import { parseJson } from "../../../packages/client/src/client/connection.ts";
import type { JsonObject } from "../../../src/value/json.ts";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";
import { DiffLines } from "../diff-lines.tsx";
import { useAttempt } from "../hooks.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { VariableLink } from "../references/variable-link.tsx";
import { beginningOf, type Session } from "../session.ts";
import "./tool-card.css";
import "./approval-table.css";

interface ToolCardProps {
  readonly part: ToolPart;
  /** Id of its message. */
  readonly turn: string;
  readonly isLive: boolean;
  readonly decide: Decide;
}

/** The tool whose calls are plans. */
const PROPOSE_PLAN = "propose_plan";

/** A tool call in one line. Expands to the input as written and as received, and the output. */
export function ToolCard({ part, turn, isLive, decide }: ToolCardProps) {
  const [isOpen, setOpen] = useState(false);
  const body = useId();
  const { changed } = askedAbout(part);
  const input = changed?.input ?? part.input;
  const sources = useSources(part.state === "input-streaming" ? undefined : input);
  const name = getToolName(part);
  const [kind, word] = stateOf(part, isLive);
  const result = resultOf(part);
  const { variables } = useConversation();
  const sizeOf = (source: string) => {
    const { bytes = 0 } = variables.get(source.replace(/^\$/, "")) ?? {};
    return bytes < LARGE_BYTES ? "" : ` · ${bytesInWords(bytes)}`;
  };
  const about = { className: `tool-card tool-${kind}`, "data-call": part.toolCallId };
  return (
    <section {...about} aria-label={labelOf(part)}>
      <Button
        className="tool-head"
        aria-expanded={isOpen}
        aria-controls={body}
        onClick={() => setOpen(!isOpen)}
      >
        <span className="tool-state" aria-hidden="true" />
        <span className="tool-line">
          <span className="tool-name">{name}</span>
          {name === PROPOSE_PLAN ? (
            <PlanLine input={part.input} />
          ) : (
            <span className="tool-input-line">
              (<Highlighted text={lineOf(input)} {...{ sources, sizeOf }} />)
            </span>
          )}
          {result !== undefined && (
            <>
              {" → "}
              <span className="reference-name">${result.name}</span>
            </>
          )}
          {result !== undefined && sizeOf(result.name)}
        </span>
        <span className={kind === "done" ? "unseen" : "tool-word"}>{word}</span>
        <Icon name="chevron" size={16} />
      </Button>
      {name === PROPOSE_PLAN && <PlanLink part={part} />}
      {part.state === "approval-requested" && <ApprovalForm part={part} decide={decide} />}
      {isOpen && (
        <div id={body} className="tool-body">
          {changed && (
            <Said title="Changed by a person; the model wrote">{lineOf(part.input)}</Said>
          )}
          <ToolInput input={input as Json | undefined} sources={sources} />
          <Changed turn={turn} toolCallId={part.toolCallId} sources={sources} />
          <ToolResult part={part} />
        </div>
      )}
    </section>
  );
}

const MAX_LABEL_CHARS = 80;

/** Label that distinguishes calls of the same tool. */
function labelOf(part: ToolPart): string {
  const name = `Call of ${getToolName(part)}`;
  const result = resultOf(part);
  if (result !== undefined) return `${name}, saved as $${result.name}`;
  const input = lineOf(part.input).slice(0, MAX_LABEL_CHARS);
  return input === "" ? name : `${name} with ${input}`;
}

const NO_SOURCES: readonly Source[] = [];

/** Returns the references in a tool's input, or in a text. Undefined while it streams. */
export function useSources(input: unknown): readonly Source[] {
  const text = JSON.stringify(input);
  const { data = NO_SOURCES } = useQuery({
    queryKey: ["references", text],
    queryFn: () => sourcesIn(text),
    enabled: text !== undefined,
    ...unchanging,
  });
  return data;
}

interface HighlightedProps {
  readonly text: string;
  readonly sources: readonly Source[];
  /** Returns what is shown behind a reference: the size of a large value. */
  readonly sizeOf?: (source: string) => string;
}

/** Text with highlighted references. */
export function Highlighted({ text, sources, sizeOf }: HighlightedProps) {
  const names = [...new Set(sources.map(({ source }) => source))];
  if (names.length === 0) return text;
  const longestFirst = names.toSorted((one, other) => other.length - one.length);
  const escaped = longestFirst.map((name) => name.replaceAll(/[^\w\s]/g, String.raw`\$&`));
  const any = escaped.join("|");
  // Every second piece is a match.
  return text.split(new RegExp(`(${any})`)).map((piece, index) =>
    index % 2 === 0 ? (
      piece
    ) : (
      <span key={index}>
        <span className="reference-name">{piece}</span>
        {sizeOf?.(piece)}
      </span>
    ),
  );
}

/** Describes a plan in words. The details of the call show its JSON. */
function PlanLine({ input }: { readonly input: unknown }) {
  // The part that has streamed so far can have any shape.
  const { name, calls } = { ...(input as { name?: unknown; calls?: unknown } | null) };
  const known = (Array.isArray(calls) ? calls : []).map((call: { _tool?: unknown } | null) => {
    return { _tool: typeof call?._tool === "string" ? call._tool : "…" };
  });
  const written = { calls: known, ...(typeof name === "string" ? { name } : {}) };
  return (
    <>
      <span className="tool-plan-name">{planName(written)}</span>
      <span className="tool-plan-calls">{plural(known.length, "call")}</span>
    </>
  );
}

/** Links to the plan once it is stored. */
function PlanLink({ part }: { readonly part: ToolPart }) {
  const { open } = useConversation();
  const output = part.state === "output-available" ? part.output : undefined;
  const { plan } = { ...(output as { readonly plan?: unknown } | null | undefined) };
  if (typeof plan !== "string") return null;
  return (
    <p className="tool-plan">
      <Button onClick={() => open({ tab: "plans", plan })}>
        <Icon name="plans" size={16} /> Open the plan
      </Button>
    </p>
  );
}

interface ToolInputProps {
  readonly input: Json | undefined;
  readonly sources: readonly Source[];
}

/** Lists each parameter as the model wrote it and as the tool received it. */
function ToolInput({ input, sources }: ToolInputProps) {
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  const parameters = isObject ? Object.entries(input) : [["", input ?? null] as const];
  if (parameters.length === 0) return <p className="tool-note">Called without parameters.</p>;
  return (
    <div className="tool-inputs">
      <div className="tool-columns" aria-hidden="true">
        <span className="tool-title">Written</span>
        <span className="tool-title">The tool received</span>
      </div>
      {parameters.map(([name, value]) => {
        const text = JSON.stringify(value, null, 2);
        const isIn = ({ source }: Source) => text.includes(JSON.stringify(source).slice(1, -1));
        const own = sources.filter(isIn);
        return (
          <div key={name} className="tool-parameter">
            {name !== "" && <code className="tool-key">{name}</code>}
            <div className="tool-columns">
              <Code label={`${name}, as the model wrote it`}>
                <Highlighted text={text} sources={own} />
              </Code>
              {own.length === 0 ? (
                <pre className="tool-json tool-same">the same</pre>
              ) : (
                <ReceivedValue name={name} text={text} sources={own} />
              )}
            </div>
          </div>
        );
      })}
    </div>
  );
}

function ReceivedValue({ name, text, sources }: HighlightedProps & { readonly name: string }) {
  const { session, variables } = useConversation();
  const versions = sources.map((source) => variables.get(source.name)?.version ?? 0);
  const { data: value, error } = useQuery({
    queryKey: ["conversation", session.conversation.id, "received", text, versions],
    queryFn: () => received(session, variables, JSON.parse(text) as Json),
    ...unchanging,
  });
  if (error !== null) return <p className="tool-note">{problemWords(error)}</p>;
  if (value === undefined) return <pre className="tool-json tool-same">…</pre>;
  return (
    <div>
      <Code label={`${name}, as the tool received it`}>{value.text}</Code>
      {value.moreChars > 0 && (
        <p className="tool-note">and {figure(value.moreChars)} characters more</p>
      )}
      {value.problems.map((said) => (
        <p key={said} className="tool-note">
          {said}
        </p>
      ))}
    </div>
  );
}

interface ChangedProps {
  readonly turn: string;
  readonly toolCallId: string;
  readonly sources: readonly Source[];
}

/** Lists the variables that have changed since the tool received them. */
function Changed({ turn, toolCallId, sources }: ChangedProps) {
  const { events, variables } = useConversation();
  const changed = [...new Set(sources.map(({ name }) => name))].filter((name) => {
    const then = versionAt(events, name, { turn, toolCallId });
    const now = variables.get(name)?.version;
    return then !== undefined && now !== undefined && then !== now;
  });
  if (changed.length === 0) return null;
  const list = changed.map((name) => `$${name}`).join(", ");
  return (
    <p className="tool-note">
      {list} has changed since this call. The values shown are the current ones, not the ones that
      the tool received.
    </p>
  );
}

/** Returns a variable's version at the time of a call, or undefined if the events do not contain it. */
function versionAt(
  events: readonly ConversationEvent[],
  name: string,
  { turn, toolCallId }: Pick<ChangedProps, "turn" | "toolCallId">,
): number | undefined {
  const end = events.findLastIndex(
    (event) =>
      event.type === "tool.called" && event.turn === turn && event.toolCallId === toolCallId,
  );
  const isWrite = ({ type, variable }: ConversationEvent) =>
    variable?.name === name && (type === "variable.saved" || type === "variable.updated");
  return events.slice(0, Math.max(0, end)).findLast(isWrite)?.variable?.version;
}

function ToolResult({ part }: { readonly part: ToolPart }): ReactNode {
  if (part.state === "output-error") return <Said title="Error">{part.errorText}</Said>;
  if (part.state === "output-denied") {
    return <Said title="Denied">{part.approval.reason ?? "A person denied this call."}</Said>;
  }
  if (part.state !== "output-available") return null;
  const result = resultOf(part);
  const output = part.output as { readonly value?: unknown } | null | undefined;
  const value = typeof output === "object" && output !== null && "value" in output;
  return (
    <div className="tool-part">
      <h2 className="tool-title">The model was shown</h2>
      {result !== undefined && (
        <p className="tool-handle">
          <VariableLink name={result.name} />
          <span>
            {result.size === undefined
              ? "shown in full (small result)"
              : `${result.size}: a handle, not the value`}
          </span>
        </p>
      )}
      <Code label="Result">{JSON.stringify(value ? output.value : output, null, 2)}</Code>
    </div>
  );
}

function Said({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="tool-part">
      <h2 className="tool-title">{title}</h2>
      <p className="tool-said">{children}</p>
    </div>
  );
}

type Kind = "running" | "waiting" | "done" | "failed";

function stateOf({ state }: ToolPart, isLive: boolean): readonly [Kind, word: string] {
  switch (state) {
    case "approval-requested":
      return ["waiting", "needs your approval"];
    case "output-available":
      return ["done", "done"];
    case "output-error":
      return ["failed", "failed"];
    case "output-denied":
      return ["failed", "denied"];
    default:
      if (!isLive) return ["failed", "did not run"];
      return ["running", state === "input-streaming" ? "being written" : "running"];
  }
}

/** Formats the parameters like a line of code. */
function lineOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function resultOf(part: ToolPart) {
  return handleIn(part.state === "output-available" ? part.output : undefined);
}

export type Decide = (decision: Decision & { readonly id: string }) => Promise<unknown>;

interface ApprovalFormProps {
  readonly part: AskingPart;
  readonly decide: Decide;
}

/** What a person was asked about a call. The server sends what the types declare. */
const askedAbout = ({ approval }: ToolPart): Partial<ApprovalRequest> => ({
  ...(approval?.descriptor as Partial<ApprovalRequest> | undefined),
});

/** A call that needs approval: its input with values, which may be changed, and buttons to approve or deny. */
function ApprovalForm({ part, decide }: ApprovalFormProps) {
  const [trouble, attempt] = useAttempt();
  const { input, sizes = [], diffs = [], changed, fixed, ...asked } = askedAbout(part);
  // A long text is clipped, so it may not be JSON.
  const values = input === undefined ? part.input : jsonIn(input);
  const sources = useSources(changed?.input ?? part.input);
  const [shown, own] = [fieldsOf(values), fieldsOf(changed?.input ?? part.input)];
  const answer = (decision: Decision, given: FormData) => {
    const changes = [...shown].flatMap(([name, value]) => {
      const text = String(given.get(`input ${name}`) ?? wordsOf(value));
      const typed = typeof value === "string" ? text : (jsonIn(text) ?? text);
      return text === wordsOf(value) ? [] : [[name, typed] as const];
    });
    const whole = Object.fromEntries([...own, ...changes]) as JsonObject;
    const isChanged = decision.approved && changes.length > 0;
    const { id } = part.approval;
    void attempt(() => decide({ id, ...decision, ...(isChanged && { input: whole }) }));
  };
  return (
    <div className="approval">
      <DecisionForm decide={answer}>
        <p className="approval-why">{asked.reason ?? "This call runs when you approve it."}</p>
        {diffs.map((diff) => (
          <VariableChanges key={diff.name} changes={diff} />
        ))}
        {sizes.length > 0 && (
          <table className="approval-table">
            <caption className="unseen">What would run</caption>
            <thead>
              <tr>
                <th scope="col">Parameter</th>
                <th scope="col">Value</th>
                <th scope="col">The model wrote</th>
              </tr>
            </thead>
            <tbody>
              {sizes.map(({ name, chars }) => {
                const value = wordsOf(shown.get(name));
                const written = wordsOf(own.get(name));
                const about = { "aria-label": name, name: `input ${name}` };
                const field = { className: "field", defaultValue: value, ...about };
                return (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>
                      {isField(shown.get(name)) && fixed?.includes(name) !== true ? (
                        <input {...field} />
                      ) : (
                        `${cut(value)} (${plural(chars, "character")})`
                      )}
                    </td>
                    <td>
                      {written === value ? (
                        <i>the same</i>
                      ) : (
                        <Highlighted text={cut(written)} sources={sources} />
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </DecisionForm>
      <Problem error={trouble} />
      <details className="approval-json" open={sizes.length === 0}>
        <summary>As JSON</summary>
        <Code label="Input with its values">
          {values === undefined ? input : JSON.stringify(values, null, 2)}
        </Code>
      </details>
    </div>
  );
}

const cut = (text: string) => shortened(text, 240);
const fieldsOf = (input: unknown): ReadonlyMap<string, unknown> =>
  new Map(Object.entries({ ...(input as object | undefined) }));
const wordsOf = (value: unknown) =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
/** Short scalars can be changed. */
const isField = (value: unknown) => typeof value !== "object" && /^.{1,240}$/u.test(wordsOf(value));

const WITHHELD = {
  sealed: "It contains a sealed value, so its changes are not shown.",
  too_large: "It is too large to be compared.",
  gone: "The version that it was edited from no longer exists.",
} as const;

/** Shows the changes of an edited variable in the input. */
function VariableChanges({ changes }: { readonly changes: VariableDiff }) {
  const { name, version, from, diff, more = 0, withheld } = changes;
  const since = from?.name === name ? `version ${from.version}` : `$${from?.name}`;
  const title = `$${name}, version ${version}, was edited`;
  if (withheld !== undefined || diff === undefined || from === undefined) {
    return (
      <p className="tool-note">
        {title}. {WITHHELD[withheld ?? "gone"]}
      </p>
    );
  }
  const lines = diff.split("\n").slice(0, -1);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return (
    <details className="diff" open>
      <summary className="diff-summary">
        {title}: changes since {since}{" "}
        <span className="diff-counts">
          +{count("+")} −{count("-")}
          {more > 0 && " …"}
        </span>
      </summary>
      <DiffLines label={`Changes of ${name}`} lines={lines} />
      {more > 0 && <p className="tool-note">and {plural(more, "more line")}</p>}
      {from.version > 1 && <p className="tool-note">Changes before {since} are not shown.</p>}
    </details>
  );
}

const MAX_READ_CHARS = 20_000;
const MAX_SHOWN_CHARS = 700;
const FIRST_ELEMENTS = 3;

/** A reference as it is written, and the name of its variable. */
export interface Source {
  readonly source: string;
  readonly name: string;
}

/** Returns the references in a tool's input, which is JSON. Text that cannot be read as references has none. */
export async function sourcesIn(input: string): Promise<readonly Source[]> {
  const texts: string[] = [];
  JSON.parse(input, (_, value: unknown) => typeof value === "string" && texts.push(value));
  const lookup: Lookup = () => ({ found: true, value: "" });
  const found = texts.map((text) => referencesIn(text, lookup));
  return (await Promise.all(found.map((one) => one.catch(() => [])))).flat();
}

/** Resolves the references in a part of a tool's input to their current values, as indented and clipped JSON. */
async function received(
  { conversation }: Session,
  variables: ReadonlyMap<string, VariableInfo>,
  input: Json,
) {
  /** Reasons why parts are missing. */
  const problems: string[] = [];
  let moreChars = 0;
  const lookup: Lookup = async ({ name, path }) => {
    const info = variables.get(name);
    if (info?.type === "bytes") return { found: true, value: `[${info.bytes} bytes]` };
    try {
      const at = formatPath(path);
      // The first elements of a long array are more readable than its first characters.
      const isLong = info?.type === "array" && info.bytes > MAX_READ_CHARS && at === "";
      const whole = at === "" ? {} : { path: at };
      const part = isLong ? { limit: FIRST_ELEMENTS } : whole;
      const response = await conversation.variables.open(name, part);
      const isText = response.headers.get("content-type")?.startsWith("text/plain") === true;
      const { text, isWhole } = await beginningOf(response, MAX_READ_CHARS);
      if (isLong) moreChars += info.chars - text.length;
      if (isWhole) return { found: true, value: isText ? text : (parseJson(text) as Json) };
      moreChars += Math.max(0, (at === "" ? (info?.chars ?? 0) : 0) - text.length);
      return { found: true, value: `${text}…` };
    } catch (error) {
      problems.push(problemWords(error));
      return { found: false, reason: "unknown" };
    }
  };
  const { value } = await resolveReferences(input, lookup);
  const isCut = moreChars > 0 && typeof value === "string";
  const whole = isCut ? value : JSON.stringify(value, null, 2);
  const text = whole.slice(0, MAX_SHOWN_CHARS);
  return { text, moreChars: moreChars + whole.length - text.length, problems };
}
