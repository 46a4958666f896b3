import type { UIMessage } from "ai";
import { useEffect, useRef } from "react";
import { isToolPart } from "../chat/tool-part.ts";
import type { Chatting } from "../chat/use-chatting.ts";
import type { Events } from "../../../src/react.ts";

/**
 * Shows turns that run elsewhere: in another tab, on another device, in a program. A turn that begins, or runs
 * when the page begins to listen, is joined; one that ended without being joined is loaded. So is this page's
 * own, if the connection was lost for longer than the chat waits.
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
    // Two streams at once would mix: it is joined when this page's own turn has ended.
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

/** False for a message that waits for a decision here: once somebody decides elsewhere, the message goes on. */
function isDone({ parts }: UIMessage): boolean {
  return !parts.some((part) => isToolPart(part) && part.state === "approval-requested");
}
