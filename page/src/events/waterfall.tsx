import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { TimedActivity, TimedAttempt } from "../../../packages/client/src/client.ts";
import { useConversation } from "../conversation-context.ts";
import { figure, plural, problemWords } from "../words.ts";
import "./waterfall.css";

/** Waterfall of a turn, by the id of its answer: durations of model calls, tool calls and called agents. */
export function Waterfall({ turn }: { readonly turn: string }): ReactNode {
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
