import { useChat, type UseChatHelpers } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { useCallback, useMemo, useRef, useState } from "react";
import type { Session } from "../session.ts";
import { isLost } from "../words.ts";
import type { Decide } from "./approval-form.tsx";
import { aboutOf, type Loaded, loadMessages } from "./load-messages.ts";
import { type FirstParts, transportFor } from "./transport.ts";
import { useKept } from "./use-kept.ts";

export interface Chatting {
  readonly messages: readonly UIMessage[];
  readonly isBusy: boolean;
  readonly trouble: Error | undefined;
  /** True while the page reconnects during an answer. */
  readonly isReconnecting: boolean;
  readonly firstParts: FirstParts;
  /** Loads older messages; undefined if there are none. */
  readonly earlier: (() => void) | undefined;
  readonly send: (text: string) => void;
  readonly stop: () => void;
  readonly retry: () => void;
  readonly decide: Decide;
  /** Asks a question again with another text. Its files stay. */
  readonly edit: (question: UIMessage, text: string) => void;
  readonly regenerate: (messageId: string) => void;
  /** Loads the messages from the server. */
  readonly reload: () => void;
  /** Loads the messages and joins the running turn. */
  readonly join: () => void;
  /** Call after a lost connection. Shows the rest of the answer, if the server has the question. */
  readonly catchUp: () => void;
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
export function useChatting(options: ChattingOptions): Chatting {
  const { session, loaded } = options;
  const { client, conversation } = session;
  const { chat, firstParts, isReconnecting, onJoined, revision } = useStockChat(options);
  const { trouble, run } = useAttempts(chat);
  const { sendMessage, regenerate, addToolApprovalResponse } = chat;
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const kept = useKept({ session, next: loaded.next, chat, isBusy, revision });
  const { earlier, reload, join } = kept;
  onJoined.current = kept.onJoined;
  const catchUp = useRef(() => Promise.resolve());
  catchUp.current = async () => {
    if (!isLost(trouble ?? chat.error)) return;
    // If the connection is lost again, the error stays.
    const show = await lostAnswer(session, chat).catch(() => undefined);
    if (show !== undefined) run(show);
  };
  return {
    messages: chat.messages,
    isBusy,
    trouble: trouble ?? chat.error,
    isReconnecting,
    firstParts,
    earlier: earlier === undefined ? undefined : () => run(earlier),
    send: useCallback((text) => run(() => sendMessage({ text })), [run, sendMessage]),
    // The server ends the turn, and then the stream.
    stop: () => run(() => client.conversation(conversation).stop()),
    retry: () => run(() => goOn(session, chat, trouble ?? chat.error)),
    decide: useCallback(
      (decision) => run(() => addToolApprovalResponse(decision)),
      [run, addToolApprovalResponse],
    ),
    edit: useCallback(
      ({ id: messageId, parts, metadata }, text) => {
        const files = parts.filter((part) => part.type === "file");
        run(() => sendMessage({ text, files, metadata, messageId }));
      },
      [run, sendMessage],
    ),
    reload: useCallback(() => run(reload), [run, reload]),
    join: useCallback(() => run(join), [run, join]),
    catchUp: useCallback(() => void catchUp.current(), []),
    regenerate: useCallback((messageId) => run(() => regenerate({ messageId })), [run, regenerate]),
  };
}

function useStockChat({ session, loaded, agent, onChange, onBegin }: ChattingOptions) {
  const agentNow = useRef(agent);
  agentNow.current = agent;
  const [firstParts, setFirstParts] = useState<FirstParts>(new Map());
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
        onFirstPart: (id, waitedMs) => setFirstParts((known) => new Map(known).set(id, waitedMs)),
      }),
    [session, onBegin],
  );
  const chat = useChat<UIMessage>({
    id: session.conversation,
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
  return { chat, firstParts, isReconnecting, onJoined, revision };
}

/** Errors outside the stream are shown like errors in it. */
function useAttempts({ clearError }: Chat) {
  const [trouble, setTrouble] = useState<Error>();
  const run = useCallback(
    (work: () => PromiseLike<unknown> | void) => {
      setTrouble(undefined);
      clearError();
      Promise.resolve(work()).catch((error: unknown) =>
        setTrouble(error instanceof Error ? error : new Error(String(error))),
      );
    },
    [clearError],
  );
  return { trouble, run };
}

/**
 * Retries after an error. After a lost connection, the turn may still run, have ended, or never have arrived.
 * After any other error, the question is sent again.
 */
async function goOn(session: Session, chat: Chat, trouble: unknown): Promise<void> {
  const { regenerate } = chat;
  const lost = isLost(trouble) ? await lostAnswer(session, chat) : undefined;
  return lost === undefined ? regenerate() : lost();
}

/** Shows the answer to the question. Returns undefined if the server has none. */
async function lostAnswer(
  session: Session,
  { messages, setMessages, resumeStream }: Chat,
): Promise<(() => Promise<void> | void) | undefined> {
  const about = await aboutOf(session);
  if (about?.status === "running") return () => resumeStream();
  const asked = messages.findLast(({ role }) => role === "user")?.id;
  const { messages: kept } = await loadMessages(session);
  const isAnswered = kept.at(-1)?.role === "assistant" && kept.some(({ id }) => id === asked);
  return isAnswered ? () => setMessages([...kept]) : undefined;
}
