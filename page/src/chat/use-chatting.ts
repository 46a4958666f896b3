import { useChat, type UseChatHelpers } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { useCallback, useMemo, useRef, useState } from "react";
import { ClientError, type MessagePage } from "../../../packages/client/src/client.ts";
import { useAttempt } from "../hooks.ts";
import type { Session } from "../session.ts";
import { isLost } from "../words.ts";
import type { Decide } from "./approval-form.tsx";
import { transportFor } from "./transport.ts";

/** A conversation as stored on the server. */
export interface Loaded extends MessagePage {
  /** False if the conversation has no messages yet. */
  readonly exists: boolean;
}

const PAGE = 50;

/** Returns no messages for a conversation that does not exist. */
export async function loadMessages({ conversation }: Session, before?: string) {
  const query = { limit: PAGE, ...(before === undefined ? {} : { before }) };
  return (await undefinedIfMissing(conversation.messages(query))) ?? { messages: [] };
}

/** Resolves with undefined if the conversation does not exist. */
export function aboutOf({ conversation }: Session) {
  return undefinedIfMissing(conversation.about());
}

async function undefinedIfMissing<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

export interface ChattingOptions {
  readonly session: Session;
  readonly loaded: Loaded;
  readonly agent: string | undefined;
  /** Called when the conversation changes. */
  readonly onChange: () => void;
  /** Called when the server has stored the first question. */
  readonly onBegin: () => void;
}

type Chat = UseChatHelpers<UIMessage>;

const PAINTS_EVERY_MS = 40;

/** Adds to the stock `useChat` what a server with a history allows: resuming, older messages, a shared turn. */
export function useChatting(options: ChattingOptions) {
  const { session } = options;
  const { chat, isReconnecting, onJoined, revision } = useStockChat(options);
  const { trouble, run } = useAttempts(chat);
  const { messages, sendMessage, regenerate, addToolApprovalResponse } = chat;
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const kept = useKept({ ...options, chat, isBusy, revision });
  const { earlier, reload, join } = kept;
  onJoined.current = kept.onJoined;
  const catchUp = useRef(() => Promise.resolve());
  catchUp.current = async () => {
    if (!isLost(trouble)) return;
    // If the connection is lost again, the error stays.
    const show = await lostAnswer(session, chat).catch(() => undefined);
    if (show !== undefined) run(show);
  };
  const decide: Decide = async ({ input, ...decision }) => {
    if (input === undefined) return run(() => addToolApprovalResponse(decision));
    // An input may be refused: then the call still waits here, too.
    const { id, ...decided } = decision;
    await session.conversation.approvals.decide(id, { ...decided, input }).text();
    run(reload);
  };
  const edit = ({ id: messageId, parts, metadata }: UIMessage, text: string) => {
    const files = parts.filter((part) => part.type === "file");
    run(() => sendMessage({ text, files, metadata, messageId }));
  };
  return {
    messages,
    isBusy,
    trouble,
    /** True while the page reconnects during an answer. */
    isReconnecting,
    /** Loads older messages; undefined if there are none. */
    earlier: earlier && (() => run(earlier)),
    send: useCallback((text: string) => run(() => sendMessage({ text })), [run, sendMessage]),
    // The server ends the turn, and then the stream.
    stop: () => run(() => session.conversation.stop()),
    retry: () => run(() => goOn(session, chat, trouble)),
    decide: useCallback(decide, [run, addToolApprovalResponse, session, reload]),
    /** Asks a question again with another text. Its files stay. */
    edit: useCallback(edit, [run, sendMessage]),
    /** Loads the messages from the server. */
    reload: useCallback(() => run(reload), [run, reload]),
    /** Loads the messages and joins the running turn. */
    join: useCallback(() => run(join), [run, join]),
    /** Call after a lost connection. Shows the rest of the answer, if the server has the question. */
    catchUp: useCallback(() => void catchUp.current(), []),
    regenerate: useCallback(
      (messageId: string) => run(() => regenerate({ messageId })),
      [run, regenerate],
    ),
  };
}

export type Chatting = ReturnType<typeof useChatting>;

function useStockChat({ session, loaded, agent, onChange, onBegin }: ChattingOptions) {
  const agentNow = useRef(agent);
  agentNow.current = agent;
  const [isReconnecting, setReconnecting] = useState(false);
  const onJoined = useRef(() => Promise.resolve());
  const revision = useRef(0);
  const transport = useMemo(
    () =>
      transportFor({
        session,
        onLost: setReconnecting,
        onSend: () => revision.current++,
        onJoined: () => onJoined.current(),
        onAcknowledged: onBegin,
        agent: () => agentNow.current,
      }),
    [session, onBegin],
  );
  const chat = useChat<UIMessage>({
    id: session.conversation.id,
    messages: [...loaded.messages],
    transport,
    // A new conversation has nothing to resume.
    resume: loaded.exists,
    throttle: PAINTS_EVERY_MS,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: onChange,
    onFinish: () => {
      revision.current++;
      onChange();
    },
  });
  return { chat, isReconnecting, onJoined, revision };
}

/** Errors outside the stream are shown like errors in it. */
function useAttempts({ error, clearError }: Chat) {
  const [trouble, attempt] = useAttempt();
  const run = useCallback(
    (work: () => PromiseLike<unknown> | void) => {
      clearError();
      void attempt(async () => work());
    },
    [attempt, clearError],
  );
  return { trouble: trouble ?? error, run };
}

interface KeptOptions extends ChattingOptions {
  readonly chat: Pick<Chat, "setMessages" | "resumeStream">;
  readonly isBusy: boolean;
  /** Changes when this page sends a message, and when the stream of an answer ends. */
  readonly revision: { readonly current: number };
}

/** Replaces the page's messages with those of the server. */
function useKept({ session, chat, isBusy, revision, loaded }: KeptOptions) {
  const { setMessages, resumeStream } = chat;
  const [next, setNext] = useState(loaded.next);
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
    earlier: next === undefined ? undefined : loadEarlier,
    reload,
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

/**
 * Retries after an error. After a lost connection, the turn may still run, have ended, or never have arrived.
 * After any other error, the question is sent again.
 */
async function goOn(session: Session, chat: Chat, trouble: unknown): Promise<void> {
  const lost = isLost(trouble) ? await lostAnswer(session, chat) : undefined;
  return lost === undefined ? chat.regenerate() : lost();
}

/**
 * Returns what shows the answer to the question: the rest of it, all of it, or its question sent again if that has
 * not arrived. Undefined if the server has the question and no answer.
 */
async function lostAnswer(
  session: Session,
  { messages, setMessages, resumeStream, regenerate }: Chat,
): Promise<(() => Promise<void> | void) | undefined> {
  const about = await aboutOf(session);
  if (about?.status === "running") return () => resumeStream();
  const asked = messages.findLast(({ role }) => role === "user")?.id;
  const { messages: kept } = await loadMessages(session);
  if (!kept.some(({ id }) => id === asked)) return () => regenerate();
  return kept.at(-1)?.role === "assistant" ? () => setMessages([...kept]) : undefined;
}
