import type { UIMessage } from "ai";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { ExampleQuestion } from "../../../src/edge/page-options.ts";
import { approvalsInWords, Bars, Button, TroubleNote } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { ViewBoundary } from "../view-boundary.tsx";
import { Composer } from "./composer.tsx";
import { followUps } from "./follow-ups.ts";
import { type MessageActions, MessageView } from "./message-view.tsx";
import { hasProof } from "./proof.tsx";
import { askingIn, isToolPart, metadataOf, textsOf } from "./tool-part.ts";
import type { Chatting } from "./use-chatting.ts";
import { figure } from "../words.ts";
import "./chat-view.css";
import "./approval-banner.css";
import "./model-note.css";
import "./suggestions.css";
import "./first-run.css";

interface ChatViewProps {
  readonly chatting: Chatting;
  /** The texts of each answer as the model wrote them, by the message's id. */
  readonly written: Readonly<Record<string, readonly string[]>>;
}

/** The messages and the composer. */
export function ChatView({ chatting, written }: ChatViewProps) {
  const { messages, isBusy, trouble, earlier, isReconnecting } = chatting;
  const { decide, edit, regenerate, send, stop } = chatting;
  const actions: MessageActions = useMemo(
    () => ({ decide, edit, regenerate }),
    [decide, edit, regenerate],
  );
  const { setAgent, described } = useConversation();
  const { model } = described;
  const field = useRef<HTMLTextAreaElement>(null);
  const asked = messages.findLast(({ role }) => role === "user");
  // An edited question keeps its id.
  const end = useEnd(asked && `${asked.id} ${textsOf(asked.parts).join(" ")}`);
  const last = messages.at(-1);
  const proof = useMemo(() => messages.find(hasProof), [messages]);
  const isQuiet = !isBusy && trouble === undefined;
  const isHeld = trouble !== undefined || (last !== undefined && isForPerson(last));
  const offers = isQuiet && !isHeld && last?.role !== "user";
  const isThinking = isBusy && last !== undefined && isAwaited(last);
  return (
    <div className="chat">
      <div className="chat-scroll" ref={end.setBox} tabIndex={-1}>
        <div className="chat-column" role="log" aria-label="Messages" aria-busy={isBusy}>
          {earlier !== undefined && (
            <Button className="button chat-earlier" onClick={earlier}>
              Show earlier messages
            </Button>
          )}
          {last === undefined && isQuiet && (
            <FirstRun
              ask={({ agent, question }) => {
                // The chat has the agent before it sends the question.
                if (agent !== undefined) flushSync(() => setAgent(agent));
                send(question);
                // Skipped on touch screens, where the keyboard would hide the answer.
                if (matchMedia("(hover: hover)").matches) field.current?.focus();
              }}
            />
          )}
          {messages.map((message) => (
            <ViewBoundary key={message.id}>
              <MessageView
                {...{ message, isBusy, actions }}
                written={written[message.id]}
                isLive={isBusy && message === last}
                isFirstProof={message === proof}
                isTroubled={trouble !== undefined && message === last}
              />
            </ViewBoundary>
          ))}
          {offers && <Suggestions chatting={chatting} />}
          {(isThinking || isReconnecting) && (
            <p className="chat-waiting">
              <span className="chat-pulse" aria-hidden="true" />
              {isReconnecting ? "Connection lost. Reconnecting…" : "Thinking"}
            </p>
          )}
          <TroubleNote trouble={trouble} retry={chatting.retry} />
        </div>
      </div>
      <div className="chat-foot">
        {end.isAway && (
          <Button className="button chat-jump" onClick={end.show}>
            Jump to latest
          </Button>
        )}
        <ApprovalBanner />
        <Composer {...{ isBusy, isHeld, field, send, stop }} />
        {model?.provider === "byref" && model.id === "demo" && (
          <p className="model-note">
            The demo model answers: rules, not a language model. <code>MODEL</code> names a real
            one.
          </p>
        )}
      </div>
    </div>
  );
}

/** Offers questions about the variables that exist now. */
function Suggestions({ chatting }: Pick<ChatViewProps, "chatting">) {
  const { variables } = useConversation();
  const { messages, send } = chatting;
  const questions = useMemo(() => {
    const asked = messages.flatMap(({ role, parts }) => (role === "user" ? textsOf(parts) : []));
    return followUps(variables.values(), asked);
  }, [variables, messages]);
  if (questions.length === 0) return null;
  return (
    <div className="suggestions" role="group" aria-label="Follow-up questions">
      {questions.map((question) => (
        <Button key={question} className="suggestions-one" onClick={() => send(question)}>
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
  return metadataOf(message).stopped === true || askingIn(message).length > 0;
}

/** Within this distance the end counts as in view. */
const AT_END_PX = 40;

/**
 * Keeps the end in view while anything above it grows, unless the user has scrolled up or opened something. `asked`:
 * identifies the last question, which always scrolls into view; undefined for the first view, which starts at its top.
 */
function useEnd(asked: string | undefined) {
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const [isAway, setAway] = useState(false);
  const isKept = useRef(true);
  const show = useCallback(() => {
    isKept.current = true;
    box?.scrollTo({ top: box.scrollHeight });
  }, [box]);
  useLayoutEffect(() => {
    if (asked !== undefined) show();
  }, [asked, show]);
  const hasBegun = asked !== undefined;
  useEffect(() => {
    if (box === null || !hasBegun) return undefined;
    let top = box.scrollTop;
    const below = () => box.scrollHeight - box.scrollTop - box.clientHeight;
    const look = () => {
      // Content that grows moves the end away too, but does not scroll up.
      if (below() < AT_END_PX) isKept.current = true;
      else if (box.scrollTop < top) isKept.current = false;
      top = box.scrollTop;
      setAway(!isKept.current && below() > box.clientHeight / 4);
    };
    const observer = new ResizeObserver(() => {
      if (isKept.current) show();
      look();
    });
    const press = () => {
      const before = below();
      requestAnimationFrame(() => {
        if (below() > before) isKept.current = false;
      });
    };
    observer.observe(box);
    if (box.firstElementChild !== null) observer.observe(box.firstElementChild);
    box.addEventListener("scroll", look, { passive: true });
    box.addEventListener("click", press);
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", look);
      box.removeEventListener("click", press);
    };
  }, [box, hasBegun, show]);
  return { setBox, isAway: isAway && hasBegun, show };
}

/** The view before the first message: an introduction, measured savings and example questions. */
function FirstRun({ ask }: { readonly ask: (example: ExampleQuestion) => void }) {
  const { title, lead, examples = [] } = useConversation().described.page ?? {};
  const shown = examples.find((example) => example.measured !== undefined);
  const { sent = 0, withoutReferences: whole = 0 } = shown?.measured ?? {};
  return (
    <div className="first-run">
      <div className="first-run-head">
        <div className="first-run-words">
          <h2 className="first-run-title">
            {title ?? "Tools return variables. The model passes them by reference."}
          </h2>
          <p className="first-run-lead">
            {lead ?? (
              <>
                Ask a question. Each tool result is stored as a variable beside the conversation:
                the model writes <code className="reference-name">$orders</code>, tools and you get
                the data.
              </>
            )}
          </p>
        </div>
        {shown !== undefined && (
          <figure className="first-run-figure">
            <figcaption>{shown.title}, tokens</figcaption>
            <Bars sent={[sent, figure(sent)]} whole={[whole, figure(whole)]} />
          </figure>
        )}
      </div>
      <div className="first-run-examples">
        {examples.map((example) => {
          const { title, question, about } = example;
          return (
            <Button key={title} className="first-run-card" onClick={() => ask(example)}>
              <span className="first-run-name">{title}</span>
              <span className="first-run-text">
                <span className="first-run-question">{question}</span>
                {about !== undefined && <span className="first-run-about">{about}</span>}
              </span>
            </Button>
          );
        })}
      </div>
    </div>
  );
}

/** Announces an open approval, with a link to it. */
function ApprovalBanner() {
  const { open, waiting } = useConversation();
  const { calls, plans, count } = waiting;
  const show = () => {
    if (calls === 0) return open({ tab: "plans", plan: plans[0] });
    const form = document.querySelector<HTMLElement>(".approval");
    form?.scrollIntoView({ block: "center" });
    form?.querySelector<HTMLElement>("button[type=submit]")?.focus({ preventScroll: true });
  };
  return (
    <div className="approval-banner" role="status">
      {count > 0 && (
        <>
          <span>{approvalsInWords(count)}</span>
          <Button onClick={show}>Show it</Button>
        </>
      )}
    </div>
  );
}
