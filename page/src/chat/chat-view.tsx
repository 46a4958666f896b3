import type { UIMessage } from "ai";
import { type RefObject, useCallback, useLayoutEffect, useMemo, useRef } from "react";
import type { AgentsDescription, ExampleQuestion } from "../../../src/edge/page-options.ts";
import { Button } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { ViewBoundary } from "../view-boundary.tsx";
import { Composer } from "./composer.tsx";
import { FirstRun } from "./first-run.tsx";
import { followUps } from "./follow-ups.ts";
import { type MessageActions, MessageView } from "./message-view.tsx";
import { askingIn, isToolPart } from "./tool-part.ts";
import { TroubleNote } from "./trouble-note.tsx";
import type { Chatting } from "./use-chatting.ts";
import { ApprovalBanner, type Waiting } from "./waiting.tsx";
import "./chat-view.css";
import "./model-note.css";
import "./suggestions.css";

interface ChatViewProps {
  readonly chatting: Chatting;
  readonly waiting: Waiting;
  /** The texts of each answer as the model wrote them, by the message's id. */
  readonly written: Readonly<Record<string, readonly string[]>>;
  readonly described: AgentsDescription;
  readonly agent: string | undefined;
  readonly onExample: (example: ExampleQuestion) => void;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

/** The messages and the composer. */
export function ChatView(props: ChatViewProps) {
  const { chatting, written, described, onExample } = props;
  const { messages, isBusy, trouble, earlier, isReconnecting } = chatting;
  const { decide, edit, regenerate } = chatting;
  const actions: MessageActions = useMemo(
    () => ({ decide, edit, regenerate }),
    [decide, edit, regenerate],
  );
  const scroller = useStickyScroll(messages, trouble ?? (isReconnecting || written));
  const last = messages.at(-1);
  const isQuiet = !isBusy && trouble === undefined;
  const isThinking = isBusy && last !== undefined && isAwaited(last);
  return (
    <div className="chat">
      <div className="chat-scroll" ref={scroller} tabIndex={-1}>
        <div className="chat-column" role="log" aria-label="Messages" aria-busy={isBusy}>
          {earlier !== undefined && (
            <Button className="button chat-earlier" onClick={earlier}>
              Show earlier messages
            </Button>
          )}
          {last === undefined && isQuiet && (
            <FirstRun presented={described.page ?? {}} ask={onExample} />
          )}
          {messages.map((message) => (
            <ViewBoundary key={message.id}>
              <MessageView
                {...{ message, isBusy, actions }}
                written={written[message.id]}
                isLive={isBusy && message === last}
                isTroubled={trouble !== undefined && message === last}
              />
            </ViewBoundary>
          ))}
          {isQuiet && last?.role === "assistant" && !isForPerson(last) && (
            <Suggestions ask={chatting.send} />
          )}
          {(isThinking || isReconnecting) && (
            <p className="chat-waiting">
              <span className="chat-pulse" aria-hidden="true" />
              {isReconnecting ? "Connection lost. Reconnecting…" : "Thinking"}
            </p>
          )}
          <TroubleNote trouble={trouble} retry={chatting.retry} />
        </div>
      </div>
      <Foot {...props} />
    </div>
  );
}

/** The composer and what belongs to it. */
function Foot({ chatting, waiting, described, agent, onExample, field }: ChatViewProps) {
  const { messages, isBusy, trouble, send, stop } = chatting;
  const { model, page } = described;
  const examples = (messages.length === 0 ? undefined : page?.examples) ?? [];
  const last = messages.at(-1);
  const isHeld = trouble !== undefined || (last !== undefined && isForPerson(last));
  return (
    <div className="chat-foot">
      <ApprovalBanner waiting={waiting} />
      <Composer
        {...{ agent, examples, onExample, isBusy, isHeld, field, send, stop }}
        model={model?.id}
      />
      {model?.provider === "byref" && model.id === "demo" && (
        <p className="model-note">
          The demo model answers: rules, not a language model. <code>MODEL</code> names a real one.
        </p>
      )}
    </div>
  );
}

/** Offers questions about the variables that exist now. */
function Suggestions({ ask }: { readonly ask: (question: string) => void }) {
  const { variables } = useConversation();
  const questions = useMemo(() => followUps(variables.values()), [variables]);
  if (questions.length === 0) return null;
  return (
    <div className="suggestions" role="group" aria-label="Follow-up questions">
      {questions.map((question) => (
        <Button key={question} className="suggestions-one" onClick={() => ask(question)}>
          {question}
        </Button>
      ))}
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
function isForPerson(message: UIMessage): boolean {
  const metadata = message.metadata as { readonly stopped?: boolean } | undefined;
  return metadata?.stopped === true || askingIn(message).length > 0;
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
