import { useEffect, useState } from "react";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import type { Session } from "../session.ts";

/** Kept of a long conversation. */
const MAX_EVENTS = 2_000;
const TOLD_EVERY_MS = 100;
const AGAIN_AFTER_MS = 5_000;

export interface Events {
  /** The newest, oldest first. */
  readonly events: readonly ConversationEvent[];
  /** Older ones are not kept here. */
  readonly isCut: boolean;
  readonly isLive: boolean;
  /** The last turn that began while the page listens, or that ran when it connected; a new object each time. */
  readonly turn?: { readonly id: string };
}

const NONE: Events = { events: [], isCut: false, isLive: false };

/**
 * What happens in the conversation, while it happens. A page that nobody looks at does not listen: over
 * HTTP/1.1 a browser has six connections for all of its tabs.
 */
export function useEvents({ client, conversation }: Session, exists: boolean): Events {
  const [known, setKnown] = useState<Events>(NONE);
  const isVisible = useVisible();
  useEffect(() => {
    if (!exists || !isVisible) return undefined;
    const leaving = new AbortController();
    const { signal } = leaving;
    const waiting: ConversationEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = () => {
      timer = undefined;
      const more = waiting.splice(0);
      setKnown((before) => ({ ...before, ...newest(before.events, more) }));
    };
    const listen = async () => {
      const onTurn = (id: string) => setKnown((before) => ({ ...before, turn: { id } }));
      for await (const event of client.conversation(conversation).events({ onTurn, signal })) {
        waiting.push(event);
        timer ??= setTimeout(tell, TOLD_EVERY_MS);
      }
    };
    const keepListening = () => {
      listen().catch((error: unknown) => {
        if (signal.aborted) return;
        console.warn(error);
        setKnown((before) => ({ ...before, isLive: false }));
        timer = setTimeout(keepListening, AGAIN_AFTER_MS);
      });
    };
    keepListening();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [client, conversation, exists, isVisible]);
  return known;
}

/** Each once: whoever listens again is told from the beginning. */
function newest(known: readonly ConversationEvent[], more: readonly ConversationEvent[]): Events {
  const last = known.at(-1)?.id ?? 0;
  const events = [...known, ...more.filter(({ id }) => id > last)];
  const kept = events.slice(-MAX_EVENTS);
  return { events: kept, isCut: (kept[0]?.id ?? 1) > 1, isLive: true };
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return isVisible;
}
