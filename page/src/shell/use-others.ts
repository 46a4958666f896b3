import type { UIMessage } from "ai";
import { useEffect, useRef } from "react";
import { isToolPart } from "../chat/tool-part.ts";
import type { Chatting } from "../chat/use-chatting.ts";
import type { Events } from "../../../packages/client/src/react.ts";

/**
 * Shows turns that run elsewhere: in another tab, on another device or in a program. Joins a turn that begins, or
 * that runs when the page begins to listen. Loads a turn that ended without being joined, also one of this page if
 * its connection was lost for longer than the chat waits.
 */
export function useOthers({ events, isLive, turn }: Events, chatting: Chatting): void {
  const { messages, isBusy, join, reload, catchUp } = chatting;
  useEffect(() => {
    if (isLive) catchUp();
  }, [isLive, catchUp]);
  const joined = useRef<Events["turn"]>(undefined);
  useEffect(() => {
    if (turn === undefined || turn === joined.current) return;
    const isOwn = messages.some((message) => message.id === turn.id && (isBusy || isDone(message)));
    // Two streams at once would mix, so the turn is joined when this page's own turn has ended.
    if (isBusy && !isOwn) return;
    joined.current = turn;
    if (!isOwn) join();
  }, [turn, isBusy, messages, join]);

  const last = events.findLast(({ type }) => type === "turn.done");
  const seen = useRef<number>(undefined);
  useEffect(() => {
    if (last === undefined || isBusy || last.id === seen.current) return;
    seen.current = last.id;
    const isShown = messages.some((message) => message.id === last.turn && isDone(message));
    if (!isShown) reload();
  }, [last, isBusy, messages, reload]);
}

/** False for a message that waits for an approval, because it continues once the approval is decided elsewhere. */
function isDone({ parts }: UIMessage): boolean {
  return !parts.some((part) => isToolPart(part) && part.state === "approval-requested");
}
