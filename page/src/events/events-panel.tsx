import type { ReactNode } from "react";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { bytesInWords } from "../words.ts";
import type { Events } from "../../../packages/client/src/react.ts";
import "./events-panel.css";

const MAX_SHOWN = 400;

const times = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});

const words: Readonly<Record<ConversationEvent["type"], string>> = {
  "variable.saved": "saved",
  "variable.updated": "changed",
  "variable.deleted": "deleted",
  "variable.evicted": "removed",
  "variables.queried": "Variables were queried",
  "file.saved": "saved",
  "file.deleted": "deleted",
  "tool.called": "called",
  "tool.done": "done",
  "tool.failed": "failed",
  "approval.granted": "Approved",
  "approval.denied": "Denied",
  "turn.started": "Turn started",
  "turn.recovered": "Turn resumed after a crash",
  "turn.done": "Turn finished",
  "turn.failed": "Turn failed",
  "plan.proposed": "Plan proposed",
  "plan.approved": "Plan approved",
  "plan.cancelled": "Plan cancelled",
  "run.started": "Run started",
  "run.waiting": "Run needs your approval",
  "run.recovered": "Run resumed after a crash",
  "run.done": "Run finished",
  "run.failed": "Run failed",
  "run.cancelled": "Run cancelled",
};

const reasons: Readonly<Record<string, string>> = {
  expired: "expired",
  idle: "not used",
  quota: "to make room",
  run_ended: "run ended",
  left_out: "not copied",
};

interface EventsPanelProps {
  /** The waterfall of one turn. */
  readonly inside: ReactNode;
  readonly events: Events;
  readonly openVariable: (name: string) => void;
}

/** The events, newest first. */
export function EventsPanel({ events: all, inside, openVariable }: EventsPanelProps) {
  const { events, isCut, isLive } = all;
  const shown = events.slice(-MAX_SHOWN).toReversed();
  const isMore = isCut || events.length > shown.length;
  return (
    <section className="events" aria-label="Events">
      {inside}
      <p className="events-state">
        <span className={isLive ? "events-lamp events-live" : "events-lamp"} aria-hidden="true" />
        {isLive ? "Live" : "No events yet"}
      </p>
      <ol className="events-list">
        {shown.map((event) => (
          <li key={event.id} className={`events-row events-${event.type.split(".")[0]}`}>
            <time dateTime={event.at}>{times.format(new Date(event.at))}</time>
            <span className="events-mark" aria-hidden="true" />
            <span className="events-said">
              <Said event={event} openVariable={openVariable} />
            </span>
          </li>
        ))}
      </ol>
      {isMore && <p className="events-state">Older events are not shown.</p>}
    </section>
  );
}

interface SaidProps {
  readonly event: ConversationEvent;
  readonly openVariable: (name: string) => void;
}

function Said({ event, openVariable }: SaidProps) {
  const { type, variable, file, tool, code, reason } = event;
  const source = tool ?? file?.path;
  const word = words[type] ?? type;
  if (variable !== undefined) {
    const { name, version, bytes } = variable;
    return (
      <>
        <button
          type="button"
          className="link-button events-name"
          onClick={() => openVariable(name)}
        >
          ${name}
        </button>{" "}
        {word}{" "}
        <span className="events-more">
          {reason === undefined
            ? `v${version}, ${bytesInWords(bytes)}`
            : `(${reasons[reason] ?? reason})`}
        </span>
      </>
    );
  }
  return (
    <>
      {source !== undefined && <code className="events-name">{source}</code>} {word}
      {code !== undefined && " "}
      {code !== undefined && <span className="events-more events-bad">{code}</span>}
    </>
  );
}
