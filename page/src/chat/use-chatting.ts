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
  /** The connection is lost in the middle of an answer, and made again. */
  readonly isReconnecting: boolean;
  readonly firstParts: FirstParts;
  /** Loads older messages; undefined if there are none. */
  readonly earlier: (() => void) | undefined;
  readonly send: (text: string) => void;
  readonly stop: () => void;
  readonly retry: () => void;
  readonly decide: Decide;
  readonly edit: (messageId: string, text: string) => void;
  readonly regenerate: (messageId: string) => void;
  /** Shows what the server has. */
  readonly reload: () => void;
  /** The same, and the turn that runs there. */
  readonly join: () => void;
  /** After a lost connection: shows how the answer goes on, or has ended, if the server has the question. */
  readonly catchUp: () => void;
}

export interface ChattingOptions {
  readonly session: Session;
  readonly loaded: Loaded;
  readonly agent: string | undefined;
  /** Something in the conversation has changed. */
  readonly onChange: () => void;
  /** The server has a question, and so the conversation. */
  readonly onBegin: () => void;
}

type Chat = UseChatHelpers<UIMessage>;

const PAINTS_EVERY_MS = 40;

/** The stock `useChat`, and what a server that keeps the history adds to it. */
export function useChatting(options: ChattingOptions): Chatting {
  const { session, loaded } = options;
  const { client, conversation } = session;
  const { chat, firstParts, isReconnecting, onJoined } = useStockChat(options);
  const { trouble, run } = useAttempts(chat);
  const { sendMessage, regenerate, addToolApprovalResponse } = chat;
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const kept = useKept({ session, next: loaded.next, chat, isBusy });
  const { earlier, reload, join } = kept;
  onJoined.current = kept.onJoined;
  const catchUp = useRef(() => Promise.resolve());
  catchUp.current = async () => {
    if (!isLost(trouble ?? chat.error)) return;
    // If it is lost again the trouble stays.
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
    // The turn is the server's: it ends there, and the stream says so.
    stop: () => run(() => client.conversation(conversation).stop()),
    retry: () => run(() => goOn(session, chat, trouble ?? chat.error)),
    decide: useCallback(
      (decision) => run(() => addToolApprovalResponse(decision)),
      [run, addToolApprovalResponse],
    ),
    edit: useCallback(
      (messageId, text) => run(() => sendMessage({ text, messageId })),
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
  const transport = useMemo(
    () =>
      transportFor({
        session,
        onLost: setReconnecting,
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
    // One that never was has nothing to go on with.
    resume: loaded.exists,
    throttle: PAINTS_EVERY_MS,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: onChange,
    onFinish: onChange,
  });
  return { chat, firstParts, isReconnecting, onJoined };
}

/** What goes wrong outside of the stream is shown as what goes wrong in it. */
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
 * After trouble. If the connection was lost the turn may go on without a listener, be done, or never have
 * arrived; else it has failed, and is asked for again.
 */
async function goOn(session: Session, chat: Chat, trouble: unknown): Promise<void> {
  const { regenerate } = chat;
  const lost = isLost(trouble) ? await lostAnswer(session, chat) : undefined;
  return lost === undefined ? regenerate() : lost();
}

/** Shows what has become of the question; undefined if the server has not answered it. */
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
