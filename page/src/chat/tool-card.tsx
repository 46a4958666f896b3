import type { ToolPart } from "./tool-part.ts";
import { useQuery } from "@tanstack/react-query";
import { getToolName } from "ai";
import { type ReactNode, useId, useState } from "react";
import type { Json } from "../../../src/references.ts";
import { useConversation } from "../conversation-context.ts";
import { referencesIn, type Source } from "../references/received.ts";
import { callOf, versionAt } from "../references/versions.ts";
import { Icon } from "../icon.tsx";
import { unchanging } from "../queries.ts";
import { handleIn } from "../variables/handle.ts";
import { ApprovalForm, type Decide } from "./approval-form.tsx";
import { Highlighted } from "./highlighted.tsx";
import { PlanLine, PlanLink, PROPOSE_PLAN } from "./proposed-plan.tsx";
import { ToolInput } from "./tool-input.tsx";
import "./tool-card.css";

interface ToolCardProps {
  readonly part: ToolPart;
  /** Id of its message. */
  readonly turn: string;
  readonly isLive: boolean;
  readonly decide: Decide;
}

/** A tool call in one line. Expands to the input as written and as received, and the output. */
export function ToolCard({ part, turn, isLive, decide }: ToolCardProps) {
  const [isOpen, setOpen] = useState(false);
  const body = useId();
  const sources = useSources(part);
  const name = getToolName(part);
  const state = stateOf(part, isLive);
  const result = resultOf(part);
  const about = { className: `tool-card tool-${state.kind}`, "data-call": part.toolCallId };
  return (
    <section {...about} aria-label={labelOf(part)}>
      <button
        type="button"
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
              (
              <Highlighted
                text={lineOf(part.input)}
                sources={sources.map(({ source }) => source)}
              />
              )
            </span>
          )}
          {result !== undefined && <span className="tool-result-name"> → ${result.name}</span>}
        </span>
        <span className={state.kind === "done" ? "unseen" : "tool-word"}>{state.word}</span>
        <Icon name="chevron" size={16} />
      </button>
      {name === PROPOSE_PLAN && <PlanLink part={part} />}
      {part.state === "approval-requested" && <ApprovalForm part={part} decide={decide} />}
      {isOpen && (
        <div id={body} className="tool-body">
          <ToolInput
            input={part.input as Json | undefined}
            turn={turn}
            part={part}
            sources={sources}
          />
          <Changed
            turn={turn}
            toolCallId={part.toolCallId}
            names={sources.map(({ name }) => name)}
          />
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

function useSources({ input, state }: ToolPart): readonly Source[] {
  const isWhole = state !== "input-streaming" && input !== undefined;
  const text = isWhole ? JSON.stringify(input) : undefined;
  const { data = NO_SOURCES } = useQuery({
    queryKey: ["references", text],
    queryFn: () => referencesIn(JSON.parse(text ?? "null") as Json),
    enabled: text !== undefined,
    ...unchanging,
  });
  return data;
}

const NO_SOURCES: readonly Source[] = [];

interface ChangedProps {
  readonly turn: string;
  readonly toolCallId: string;
  readonly names: readonly string[];
}

/** Lists the variables that have changed since the tool received them. */
function Changed({ turn, toolCallId, names }: ChangedProps) {
  const { events, variables } = useConversation();
  const changed = [...new Set(names)].filter((name) => {
    const then = versionAt(events, name, callOf(turn, toolCallId));
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

function ToolResult({ part }: { readonly part: ToolPart }): ReactNode {
  const { openVariable } = useConversation();
  if (part.state === "output-error") return <Said title="Error">{part.errorText}</Said>;
  if (part.state === "output-denied") {
    return <Said title="Denied">{part.approval.reason ?? "A person denied this call."}</Said>;
  }
  if (part.state !== "output-available") return null;
  const result = resultOf(part);
  const value = shownValue(part.output);
  return (
    <div className="tool-part">
      <h2 className="tool-title">The model was shown</h2>
      {result !== undefined && (
        <p className="tool-handle">
          <button type="button" className="tool-open" onClick={() => openVariable(result.name)}>
            ${result.name}
          </button>
          <span>{result.about}</span>
        </p>
      )}
      <pre className="tool-json" role="group" tabIndex={0} aria-label="Result">
        {value}
      </pre>
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

interface State {
  readonly kind: "running" | "waiting" | "done" | "failed";
  readonly word: string;
}

function stateOf({ state }: ToolPart, isLive: boolean): State {
  switch (state) {
    case "approval-requested":
      return { kind: "waiting", word: "needs your approval" };
    case "output-available":
      return { kind: "done", word: "done" };
    case "output-error":
      return { kind: "failed", word: "failed" };
    case "output-denied":
      return { kind: "failed", word: "denied" };
    default:
      if (!isLive) return { kind: "failed", word: "did not run" };
      return { kind: "running", word: state === "input-streaming" ? "being written" : "running" };
  }
}

/** Formats the parameters like a line of code. */
function lineOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function resultOf(part: ToolPart): { readonly name: string; readonly about: string } | undefined {
  const handle = handleIn(part.state === "output-available" ? part.output : undefined);
  if (handle === undefined) return undefined;
  const { name, size } = handle;
  const isSmall = size === undefined;
  return {
    name,
    about: isSmall ? "shown in full (small result)" : `${size}: a handle, not the value`,
  };
}

function shownValue(output: unknown): string {
  const value =
    typeof output === "object" && output !== null && "value" in output ? output.value : output;
  return JSON.stringify(value, null, 2);
}
