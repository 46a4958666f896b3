import type { UIMessage } from "ai";
import { type ReactNode, useId } from "react";
import { useQuery } from "@tanstack/react-query";
import type { Events } from "../../../packages/client/src/react.ts";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { SentPrompt } from "../meter/meter-panel.tsx";
import { textsOf } from "../chat/tool-part.ts";
import type { Chatting } from "../chat/use-chatting.ts";
import { useConversation } from "../conversation-context.ts";
import { VariableLink } from "../references/variable-link.tsx";
import { bytesInWords, figure, plural, problemWords, shortened } from "../words.ts";
import type { TimedActivity, TimedAttempt } from "../../../packages/client/src/client.ts";
import "./events-panel.css";
import "./waterfall.css";

const MAX_SHOWN = 400;

const times = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});

/** Words for events whose names are not for people: whole types, or their last parts. */
const WORDS: Readonly<Record<string, string>> = {
  "variables.queried": "Variables were queried",
  "variable.updated": "changed",
  "variable.evicted": "removed",
  "approval.granted": "Approved",
  "approval.denied": "Denied",
  done: "finished",
  recovered: "resumed after a crash",
  waiting: "needs your approval",
};

/** `saved` for what has a name of its own, else with what has happened: `Run finished`. */
function wordsOf(type: string): string {
  const [subject = "", happened = ""] = type.split(".");
  const isNamed = ["variable", "file", "tool"].includes(subject);
  if (WORDS[type] !== undefined || isNamed) return WORDS[type] ?? happened;
  const word = `${subject} ${WORDS[happened] ?? happened}`;
  return word.charAt(0).toUpperCase() + word.slice(1);
}

const reasons: Readonly<Record<string, string>> = {
  expired: "expired",
  idle: "not used",
  quota: "to make room",
  run_ended: "run ended",
  left_out: "not copied",
};

interface EventsPanelProps {
  readonly events: Events;
  readonly chatting: Pick<Chatting, "isBusy" | "messages">;
}

/** The waterfall of a turn, and the events, newest first. */
export function EventsPanel({ events: all, chatting }: EventsPanelProps) {
  const { events, isCut, isLive } = all;
  const shown = events.slice(-MAX_SHOWN).toReversed();
  return (
    <section className="events" aria-label="Events">
      <TurnInside {...chatting} />
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
  const source = tool ?? file?.path;
  const word = wordsOf(type);
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
      <VariableLink name={name} /> {word}{" "}
      <span className="events-more">
        {reason === undefined
          ? `v${version}, ${bytesInWords(bytes)}`
          : `(${reasons[reason] ?? reason})`}
      </span>
    </>
  );
}

const MAX_QUESTION_CHARS = 60;

/** Shows the waterfall of a turn, and the prompt of the next model call. */
function TurnInside({ isBusy, messages }: EventsPanelProps["chatting"]): ReactNode {
  const { view, open } = useConversation();
  const choice = useId();
  // A running turn has no stored times yet.
  const whole = isBusy ? messages.slice(0, -1) : messages;
  const turns = whole.flatMap(({ id, role }, index) =>
    role === "assistant" ? [{ id, question: questionOf(whole[index - 1]) }] : [],
  );
  const shown = turns.find(({ id }) => id === view.turn) ?? turns.at(-1);
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
      <SentPrompt />
    </section>
  );
}

function questionOf(message: UIMessage | undefined): string {
  return shortened(textsOf(message?.parts ?? []).join(" "), MAX_QUESTION_CHARS);
}

/** Waterfall of a turn, by the id of its answer: durations of model calls, tool calls and called agents. */
function Waterfall({ turn }: { readonly turn: string }): ReactNode {
  const { conversation } = useConversation().session;
  const { data, error } = useQuery({
    queryKey: ["conversation", conversation.id, "timeline", turn],
    queryFn: () => conversation.timeline(turn),
  });
  if (data === undefined) {
    return error === null ? null : <p className="events-state">{problemWords(error)}</p>;
  }
  if (data.attempts.length === 0) {
    return <p className="events-state">The times of this turn are not stored.</p>;
  }
  return data.attempts.map((attempt, index) => (
    <Attempt key={attempt.startedAt} attempt={attempt} isFirst={index === 0} />
  ));
}

function Attempt({ attempt, isFirst }: { attempt: TimedAttempt; isFirst: boolean }) {
  const { agent, model, provider, durationMs, activities, left = 0 } = attempt;
  return (
    <section className="waterfall" aria-label={isFirst ? "Waterfall" : "Waterfall after approval"}>
      <p className="waterfall-head">
        <span>
          Agent <b>{agent}</b>
        </span>
        <span>
          Model <b>{model}</b> ({provider})
        </span>
        <span>
          {isFirst ? "" : "after approval, "}
          {milliseconds(durationMs)}
        </span>
      </p>
      <table className="waterfall-rows">
        <thead className="unseen">
          <tr>
            <th scope="col">Step</th>
            <th scope="col">When</th>
            <th scope="col">Duration</th>
          </tr>
        </thead>
        <tbody>
          {activities.map((activity, index) => (
            <Row key={index} activity={activity} wholeMs={Math.max(durationMs, 1)} />
          ))}
        </tbody>
      </table>
      {left > 0 && <p className="events-state">{plural(left, "more step")} are not shown.</p>}
    </section>
  );
}

function Row({ activity, wholeMs }: { activity: TimedActivity; wholeMs: number }) {
  const { kind, name, depth, startMs, durationMs, firstOutputMs, error } = activity;
  const share = (ms: number) => `${Math.min(100, (ms / wholeMs) * 100)}%`;
  const state = error === undefined ? "" : " waterfall-failed";
  return (
    <tr>
      <th scope="row" style={{ paddingLeft: depth * 12 }}>
        <span className="waterfall-kind">{kind}</span> {name}
        <span className="waterfall-more">{moreOf(activity)}</span>
      </th>
      <td className="waterfall-track">
        <span className="unseen">after {milliseconds(startMs)}</span>
        <span
          aria-hidden="true"
          className={`waterfall-bar waterfall-${kind}${state}`}
          style={{ marginLeft: share(startMs), width: share(durationMs) }}
        >
          {firstOutputMs !== undefined && (
            <i style={{ left: `${(firstOutputMs / Math.max(durationMs, 1)) * 100}%` }} />
          )}
        </span>
      </td>
      <td className="waterfall-ms">{milliseconds(durationMs)}</td>
    </tr>
  );
}

function moreOf({ inputTokens, outputTokens, firstOutputMs, error }: TimedActivity): string {
  const tokens =
    inputTokens !== undefined &&
    `${figure(inputTokens)} tokens in, ${figure(outputTokens ?? 0)} out`;
  const first = firstOutputMs !== undefined && `first token after ${milliseconds(firstOutputMs)}`;
  return [tokens, first, error].filter(Boolean).join(" · ");
}

function milliseconds(ms: number): string {
  return `${figure(Math.round(ms))} ms`;
}
