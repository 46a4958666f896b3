import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";

/** Is this event the moment that is meant? */
export type Moment = (event: ConversationEvent) => boolean;

export function callOf(turn: string, toolCallId: string): Moment {
  return (event) =>
    event.type === "tool.called" && event.turn === turn && event.toolCallId === toolCallId;
}

/** The version that a variable had then; undefined if the events do not tell. */
export function versionAt(
  events: readonly ConversationEvent[],
  name: string,
  moment: Moment,
): number | undefined {
  const end = events.findLastIndex(moment);
  if (end === -1) return undefined;
  return events
    .slice(0, end)
    .findLast(
      ({ type, variable }) =>
        variable?.name === name && (type === "variable.saved" || type === "variable.updated"),
    )?.variable?.version;
}
