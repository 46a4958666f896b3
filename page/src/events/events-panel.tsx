import type { UIMessage } from "ai";
import { type ReactNode, useId } from "react";
import { Button } from "../controls.tsx";
import type { Events } from "../../../packages/client/src/react.ts";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { textsOf } from "../chat/tool-part.ts";
import type { Chatting } from "../chat/use-chatting.ts";
import { useConversation } from "../conversation-context.ts";
import { bytesInWords, shortened } from "../words.ts";
import { Waterfall } from "./waterfall.tsx";
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

interface EventsPanelProps extends TurnInsideProps {
  readonly events: Events;
}

/** The waterfall of a turn, and the events, newest first. */
export function EventsPanel({ events: all, ...inside }: EventsPanelProps) {
  const { events, isCut, isLive } = all;
  const shown = events.slice(-MAX_SHOWN).toReversed();
  return (
    <section className="events" aria-label="Events">
      <TurnInside {...inside} />
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
              <Said event={event} />
            </span>
          </li>
        ))}
      </ol>
      {(isCut || events.length > shown.length) && (
        <p className="events-state">Older events are not shown.</p>
      )}
    </section>
  );
}

function Said({ event }: { readonly event: ConversationEvent }) {
  const { type, variable, file, tool, code, reason } = event;
  const { open } = useConversation();
  const source = tool ?? file?.path;
  const word = words[type] ?? type;
  if (variable === undefined) {
    return (
      <>
        {source !== undefined && <code className="events-name">{source}</code>} {word}{" "}
        {code !== undefined && <span className="events-more events-bad">{code}</span>}
      </>
    );
  }
  const { name, version, bytes } = variable;
  return (
    <>
      <Button
        className="link-button events-name"
        onClick={() => open({ tab: "variables", variable: name })}
      >
        ${name}
      </Button>{" "}
      {word}{" "}
      <span className="events-more">
        {reason === undefined
          ? `v${version}, ${bytesInWords(bytes)}`
          : `(${reasons[reason] ?? reason})`}
      </span>
    </>
  );
}

interface TurnInsideProps {
  readonly chatting: Pick<Chatting, "isBusy" | "messages">;
  /** Id of the selected answer. Default: the newest one. */
  readonly turn: string | undefined;
  /** The prompt of the next model call. */
  readonly prompt: ReactNode;
}

const MAX_QUESTION_CHARS = 60;

/** Shows the waterfall of a turn, and the prompt of the next model call. */
function TurnInside({ chatting: { isBusy, messages }, turn, prompt }: TurnInsideProps): ReactNode {
  const { open } = useConversation();
  const choice = useId();
  // A running turn has no stored times yet.
  const whole = isBusy ? messages.slice(0, -1) : messages;
  const turns = whole.flatMap(({ id, role }, index) =>
    role === "assistant" ? [{ id, question: questionOf(whole[index - 1]) }] : [],
  );
  const shown = turns.find(({ id }) => id === turn) ?? turns.at(-1);
  if (shown === undefined) return null;
  return (
    <section aria-label="Inside a turn">
      <p className="turn-choice">
        <label htmlFor={choice}>Turn</label>
        <select
          id={choice}
          className="field"
          value={shown.id}
          onChange={({ target }) => open({ turn: target.value })}
        >
          {turns.map(({ id, question }, index) => (
            <option key={id} value={id}>
              {index + 1}. {question}
            </option>
          ))}
        </select>
      </p>
      <Waterfall key={shown.id} turn={shown.id} />
      {prompt}
    </section>
  );
}

function questionOf(message: UIMessage | undefined): string {
  return shortened(textsOf(message?.parts ?? []).join(" "), MAX_QUESTION_CHARS);
}
