import { useChat, type UseChatHelpers } from "@ai-sdk/react";
import {
  type ChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { useMemo, useRef, useState } from "react";
import { ClientError, type MessagePage } from "../../../packages/client/src/client.ts";
import { useAttempt, useStable } from "../hooks.ts";
import type { Session } from "../session.ts";
import { isLost } from "../words.ts";
import type { Decide } from "./tool-card.tsx";
import { backOff } from "../../../packages/client/src/client/follow.ts";
import { byrefTransport } from "../../../packages/client/src/react.ts";

/** A conversation as stored on the server. */
export interface Loaded extends MessagePage {
  /** False if the conversation has no messages yet. */
  readonly exists: boolean;
}

const PAGE = 50;
const NONE: MessagePage = { messages: [] };

/** Resolves with undefined if the conversation does not exist. */
export function loadMessages({ conversation }: Session, before?: string) {
  const query = { limit: PAGE, ...(before === undefined ? {} : { before }) };
  return undefinedIfMissing<MessagePage>(conversation.messages(query));
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
  readonly onChange: () => void;
  /** Called when the server has stored the first question. */
  readonly onBegin: () => void;
}

type Chat = UseChatHelpers<UIMessage>;

const PAINTS_EVERY_MS = 40;

/** Adds to the stock `useChat` what a server with a history allows: resuming, older messages, a shared turn. */
export function useChatting(options: ChattingOptions) {
  const { session, loaded, agent, onChange, onBegin } = options;
  const [isReconnecting, setReconnecting] = useState(false);
  const [problem, attempt] = useAttempt();
  const revision = useRef(0);
  const agentNow = useStable(() => agent);
  const onJoined = useStable(() => kept.onJoined());
  const transport = useMemo(() => {
    const onSend = () => revision.current++;
    const calls = { onSend, onJoined, onAcknowledged: onBegin, onLost: setReconnecting };
    return transportFor(session, { agent: agentNow, ...calls });
  }, [session, onBegin]);
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
  const { messages, sendMessage, clearError } = chat;
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const kept = useKept({ ...options, chat, isBusy, revision });
  const { earlier, reload, join } = kept;
  // Errors outside the stream are shown like errors in it.
  const trouble = problem ?? chat.error;
  const run = (work: () => PromiseLike<unknown> | void) => {
    clearError();
    void attempt(async () => work());
  };
  return {
    messages,
    isBusy,
    trouble,
    /** True while the page reconnects during an answer. */
    isReconnecting,
    /** Loads older messages; undefined if there are none. */
    earlier: earlier && (() => run(earlier)),
    send: useStable((text: string) => run(() => sendMessage({ text }))),
    // The server ends the turn, and then the stream.
    stop: () => run(() => session.conversation.stop()),
    retry: () => run(() => goOn(session, chat, trouble)),
    decide: useStable<Decide>(async ({ input, ...decision }) => {
      if (input === undefined) return run(() => chat.addToolApprovalResponse(decision));
      // An input may be refused: then the call still waits here, too.
      const { id, ...decided } = decision;
      await session.conversation.approvals.decide(id, { ...decided, input }).text();
      run(reload);
    }),
    /** Asks a question again with another text. Its files stay. */
    edit: useStable(({ id: messageId, parts, metadata }: UIMessage, text: string) => {
      const files = parts.filter((part) => part.type === "file");
      run(() => sendMessage({ text, files, metadata, messageId }));
    }),
    /** Loads the messages from the server. */
    reload: useStable(() => run(reload)),
    /** Loads the messages and joins the running turn. */
    join: useStable(() => run(join)),
    /** Call after a lost connection. Shows the rest of the answer, if the server has the question. */
    catchUp: useStable(async () => {
      if (!isLost(trouble)) return;
      // If the connection is lost again, the error stays.
      const show = await lostAnswer(session, chat).catch(() => undefined);
      if (show !== undefined) run(show);
    }),
    regenerate: useStable((messageId: string) => run(() => chat.regenerate({ messageId }))),
  };
}

export type Chatting = ReturnType<typeof useChatting>;

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
  const isBusyNow = useStable(() => isBusy);
  const lastLoad = useRef<Promise<unknown>>(undefined);
  const joins = useRef(0);
  const load = async (): Promise<readonly UIMessage[] | undefined> => {
    for (;;) {
      // Loads run one at a time: an older response must not replace a newer one.
      const loading = Promise.resolve(lastLoad.current).then(async () => {
        const asked = revision.current;
        const { messages, next } = (await loadMessages(session)) ?? NONE;
        return { messages, next, isOld: asked !== revision.current };
      });
      lastLoad.current = loading.catch(() => undefined);
      const { messages, next, isOld } = await loading;
      // A question was sent meanwhile. The response does not contain it yet.
      if (isBusyNow()) return undefined;
      // A whole answer has arrived meanwhile. The response may be older than it.
      if (isOld) continue;
      setNext(next);
      return messages;
    }
  };
  const reload = async () => {
    const messages = await load();
    if (messages !== undefined) setMessages([...messages]);
  };
  const loadEarlier = async () => {
    const page = (await loadMessages(session, next)) ?? NONE;
    setMessages((known) => [...page.messages, ...known]);
    setNext(page.next);
  };
  return {
    earlier: next === undefined ? undefined : loadEarlier,
    reload,
    join: async () => {
      const before = joins.current;
      await resumeStream();
      // The turn has ended.
      if (joins.current === before) await reload();
    },
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
  const { messages: kept } = (await loadMessages(session)) ?? NONE;
  if (!kept.some(({ id }) => id === asked)) return () => regenerate();
  return kept.at(-1)?.role === "assistant" ? () => setMessages([...kept]) : undefined;
}

interface Calls {
  readonly onSend: () => void;
  /** Called when a message is sent. */
  readonly agent: () => string | undefined;
  /** Called with the first frame of an answer, before it is shown. The server has stored the question. */
  readonly onAcknowledged: () => void;
  /** Called when a running turn is joined, before its stream is read. The page may not have its question yet. */
  readonly onJoined: () => Promise<void>;
  /** Called when the connection is lost during an answer, and when it is back. */
  readonly onLost: (isLost: boolean) => void;
}

/** The transport of `byref/react`, with callbacks about its progress. */
function transportFor({ options }: Session, calls: Calls): ChatTransport<UIMessage> {
  const { agent, onSend, onAcknowledged, onJoined, onLost } = calls;
  let hasBegun = false;
  const transport = byrefTransport("", {
    ...options,
    agent,
    // Opening another conversation does not stop the turn. The Stop button does.
    onAbort: "leave",
    onReconnect: onLost,
    // Before the first frame, the user decides whether to retry.
    retryMs: (failures) => (hasBegun ? backOff(failures) : undefined),
  });
  /** Resolves when the answer to what this page sent has ended. */
  let answered: Promise<void> = Promise.resolve();
  return {
    resumeStreamIsReplay: true,
    async sendMessages(asked) {
      onSend();
      hasBegun = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      answered = promise;
      const sending = transport.sendMessages(asked);
      sending.catch(() => resolve());
      const stream = await sending;
      hasBegun = true;
      onAcknowledged();
      const { readable, writable } = new TransformStream<UIMessageChunk, UIMessageChunk>();
      // Also resolves when the stream has failed or been cancelled.
      void stream.pipeTo(writable).then(resolve, () => resolve());
      return readable;
    },
    async reconnectToStream(asked) {
      hasBegun = true;
      const stream = await transport.reconnectToStream(asked);
      if (stream !== null) {
        await onJoined();
        return stream;
      }
      // Without a stream the chat is ready for messages. It is not while it waits for an answer.
      await answered;
      return null;
    },
  };
}
