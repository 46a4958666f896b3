import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";

/** True for the event that marks the moment. */
export type Moment = (event: ConversationEvent) => boolean;

export function callOf(turn: string, toolCallId: string): Moment {
  return (event) =>
    event.type === "tool.called" && event.turn === turn && event.toolCallId === toolCallId;
}

/** Returns a variable's version at a moment, or undefined if the events do not contain it. */
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
