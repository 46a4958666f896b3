import { useQuery } from "@tanstack/react-query";
import { getToolName } from "ai";
import { type ReactNode, useId, useState } from "react";
import type { Json } from "../../../src/references.ts";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { Button, Code } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { Icon } from "../icon.tsx";
import { planName } from "../plans/call-state.ts";
import { unchanging } from "../queries.ts";
import { received, type Source, sourcesIn } from "../references/received.ts";
import { handleIn, LARGE_BYTES } from "../variables/handle.ts";
import { bytesInWords, figure, plural, problemWords } from "../words.ts";
import { ApprovalForm, askedAbout, type Decide } from "./approval-form.tsx";
import type { ToolPart } from "./tool-part.ts";
import "./tool-card.css";

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
          {result !== undefined && <span className="tool-result-name"> → ${result.name}</span>}
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
  const escaped = longestFirst.map((name) =>
    name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`),
  );
  // Every second piece is a match.
  return text.split(new RegExp(`(${escaped.join("|")})`)).map((piece, index) =>
    index % 2 === 0 ? (
      piece
    ) : (
      <span key={index}>
        <span className="tool-reference">{piece}</span>
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

interface ReceivedValueProps extends HighlightedProps {
  readonly name: string;
}

function ReceivedValue({ name, text, sources }: ReceivedValueProps) {
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
  const { open } = useConversation();
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
          <Button
            className="tool-open"
            onClick={() => open({ tab: "variables", variable: result.name })}
          >
            ${result.name}
          </Button>
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
