import type { UseChatHelpers } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useRef, useState } from "react";
import type { Session } from "../session.ts";
import { loadMessages } from "./load-messages.ts";

interface KeptOptions {
  readonly session: Session;
  /** Cursor of the second page; undefined if there is only one. */
  readonly next: string | undefined;
  readonly chat: Pick<UseChatHelpers<UIMessage>, "setMessages" | "resumeStream">;
  readonly isBusy: boolean;
  /** Changes when this page sends a message, and when the stream of an answer ends. */
  readonly revision: { readonly current: number };
}

/** Replaces the page's messages with those of the server. */
export function useKept({ session, chat, isBusy, revision, ...first }: KeptOptions) {
  const { setMessages, resumeStream } = chat;
  const [next, setNext] = useState(first.next);
  const isBusyNow = useRef(isBusy);
  isBusyNow.current = isBusy;
  const lastLoad = useRef<Promise<unknown>>(undefined);
  const load = useCallback(async (): Promise<readonly UIMessage[] | undefined> => {
    for (;;) {
      // Loads run one at a time: an older response must not replace a newer one.
      const loading = Promise.resolve(lastLoad.current).then(async () => {
        const asked = revision.current;
        const page = await loadMessages(session);
        return { page, isOld: asked !== revision.current };
      });
      lastLoad.current = loading.catch(() => undefined);
      const { page, isOld } = await loading;
      // A question was sent meanwhile. The response does not contain it yet.
      if (isBusyNow.current) return undefined;
      // A whole answer has arrived meanwhile. The response may be older than it.
      if (isOld) continue;
      setNext(page.next);
      return page.messages;
    }
  }, [session, revision]);
  const reload = useCallback(async () => {
    const messages = await load();
    if (messages !== undefined) setMessages([...messages]);
  }, [load, setMessages]);
  const loadEarlier = async () => {
    const page = await loadMessages(session, next);
    setMessages((known) => [...page.messages, ...known]);
    setNext(page.next);
  };
  const joins = useRef(0);
  const join = useCallback(async () => {
    const before = joins.current;
    await resumeStream();
    // The turn has ended.
    if (joins.current === before) await reload();
  }, [reload, resumeStream]);
  return {
    /** Undefined if there are no older messages. */
    earlier: next === undefined ? undefined : loadEarlier,
    reload,
    /** Joins the turn that runs on the server. */
    join,
    /**
     * Loads the question before the stream of its turn is read. The stream has the whole answer: one that is in the
     * history is continued, or will be replaced.
     */
    onJoined: async () => {
      joins.current++;
      const messages = await load();
      const question = messages?.findLastIndex(({ role }) => role === "user") ?? -1;
      if (messages !== undefined) setMessages(messages.slice(0, question + 1));
    },
  };
}
