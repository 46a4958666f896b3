import { type RefObject, useCallback, useLayoutEffect, useMemo, useRef } from "react";
import type { UIMessage } from "ai";
import type { AgentsDescription, ExampleQuestion } from "../../../src/edge/page-options.ts";
import type { Chatting } from "./use-chatting.ts";
import { ApprovalBanner } from "./approval-banner.tsx";
import { Composer } from "./composer.tsx";
import { FirstRun } from "./first-run.tsx";
import { ModelNote } from "./model-note.tsx";
import { type MessageActions, MessageView } from "./message-view.tsx";
import { Suggestions } from "./suggestions.tsx";
import { isToolPart } from "./tool-part.ts";
import { TroubleNote } from "./trouble-note.tsx";
import { ViewBoundary } from "../view-boundary.tsx";
import type { Waiting } from "./use-waiting.ts";
import type { WrittenTexts } from "./use-written.ts";
import "./chat-view.css";

interface ChatViewProps {
  readonly chatting: Chatting;
  readonly waiting: Waiting;
  readonly written: WrittenTexts;
  readonly described: AgentsDescription;
  readonly agent: string | undefined;
  readonly onExample: (example: ExampleQuestion) => void;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

/** The messages and the composer. */
export function ChatView(props: ChatViewProps) {
  const { chatting, written, described, onExample } = props;
  const { messages, isBusy, trouble, earlier, isReconnecting } = chatting;
  const actions = useActions(chatting);
  const scroller = useStickyScroll(messages, trouble ?? (isReconnecting || written));
  const last = messages.at(-1);
  const isDone =
    !isBusy && trouble === undefined && last?.role === "assistant" && !isForPerson(last);
  const isThinking = isBusy && last !== undefined && isAwaited(last);
  return (
    <div className="chat">
      <div className="chat-scroll" ref={scroller} tabIndex={-1}>
        <div className="chat-column" role="log" aria-label="Messages" aria-busy={isBusy}>
          {earlier !== undefined && (
            <button type="button" className="button chat-earlier" onClick={earlier}>
              Show earlier messages
            </button>
          )}
          {messages.length === 0 && !isBusy && trouble === undefined && (
            <FirstRun presented={described.page ?? {}} ask={onExample} />
          )}
          {messages.map((message) => (
            <ViewBoundary key={message.id}>
              <MessageView
                message={message}
                written={written.get(message.id)}
                isLive={isBusy && message === last}
                isTroubled={trouble !== undefined && message === last}
                isBusy={isBusy}
                actions={actions}
              />
            </ViewBoundary>
          ))}
          {isDone && <Suggestions ask={chatting.send} />}
          {(isThinking || isReconnecting) && (
            <p className="chat-waiting">
              <span className="chat-pulse" aria-hidden="true" />
              {isReconnecting ? "Connection lost. Reconnecting…" : "Thinking"}
            </p>
          )}
          {trouble !== undefined && <TroubleNote trouble={trouble} retry={chatting.retry} />}
        </div>
      </div>
      <Foot {...props} />
    </div>
  );
}

/** The composer and what belongs to it. */
function Foot({ chatting, waiting, described, agent, onExample, field }: ChatViewProps) {
  const { messages, isBusy, trouble, send, stop } = chatting;
  const examples = messages.length === 0 ? undefined : described.page?.examples;
  const last = messages.at(-1);
  const isHeld = trouble !== undefined || (last !== undefined && isForPerson(last));
  return (
    <div className="chat-foot">
      <ApprovalBanner waiting={waiting} />
      <Composer
        {...{ agent, examples: examples ?? [], onExample, isBusy, isHeld, field, send, stop }}
        model={described.model?.id}
      />
      <ModelNote model={described.model} />
    </div>
  );
}

/** True while nothing shows that the model is at work: its next words, or its next call, are still to come. */
function isAwaited({ role, parts }: UIMessage): boolean {
  const part =
    role === "user" ? undefined : parts.findLast(({ type }) => !type.startsWith("data-"));
  if (part === undefined || part.type === "step-start") return true;
  if (isToolPart(part)) return part.state.startsWith("output-");
  return (part.type === "text" || part.type === "reasoning") && part.text === "";
}

/** True for an answer that a person has stopped or has to approve. */
function isForPerson({ metadata, parts }: UIMessage): boolean {
  const isStopped = (metadata as { readonly stopped?: boolean } | undefined)?.stopped === true;
  return isStopped || parts.some((part) => isToolPart(part) && part.state === "approval-requested");
}

function useActions({ decide, edit, regenerate }: Chatting): MessageActions {
  return useMemo(() => ({ decide, edit, regenerate }), [decide, edit, regenerate]);
}

const STICKS_WITHIN_PX = 120;

/** Keeps the end in view while the answer grows, unless the user has scrolled away. */
function useStickyScroll(
  messages: readonly unknown[],
  below: unknown,
): (element: HTMLDivElement | null) => void {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const count = useRef(0);
  useLayoutEffect(() => {
    const box = element.current;
    // The first view starts at its top.
    if (box === null || messages.length === 0) return;
    // A new question always scrolls into view.
    if (isAtEnd.current || messages.length > count.current + 1) box.scrollTop = box.scrollHeight;
    count.current = messages.length;
  }, [messages, below]);
  return useCallback((box: HTMLDivElement | null) => {
    element.current = box;
    const look = () => {
      if (box === null) return;
      isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < STICKS_WITHIN_PX;
    };
    box?.addEventListener("scroll", look, { passive: true });
    // Opening a card moves the end out of view.
    box?.addEventListener("click", () => requestAnimationFrame(look));
  }, []);
}
