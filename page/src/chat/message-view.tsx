import type { UIMessage } from "ai";
import { memo, type ReactNode, useState } from "react";
import { useConversation } from "../conversation-context.ts";
import { Icon, type IconName } from "../icon.tsx";
import { useReceipt } from "../references/use-receipt.ts";
import { titleFor } from "../words.ts";
import { AnswerSwitches } from "./answer-switches.tsx";
import { AnswerText } from "./answer-text.tsx";
import type { Decide } from "./approval-form.tsx";
import { SavingsChip } from "./savings-chip.tsx";
import { ToolCard } from "./tool-card.tsx";
import { isToolPart } from "./tool-part.ts";
import { textsOf } from "./use-written.ts";
import "./message-view.css";

export interface MessageActions {
  readonly decide: Decide;
  readonly edit: (question: UIMessage, text: string) => void;
  readonly regenerate: (messageId: string) => void;
}

interface MessageViewProps {
  readonly message: UIMessage;
  /** The texts as the model wrote them, if known. */
  readonly written: readonly string[] | undefined;
  /** True while the message streams. */
  readonly isLive: boolean;
  /** True if its error is shown elsewhere. */
  readonly isTroubled: boolean;
  /** True while no message can be sent. */
  readonly isBusy: boolean;
  readonly actions: MessageActions;
}

export const MessageView = memo(function MessageView(props: MessageViewProps) {
  // A plan's run streams like a turn, and is shown in the plans panel.
  if (props.message.parts.some(({ type }) => type === "data-call" || type === "data-run"))
    return null;
  return props.message.role === "user" ? <Question {...props} /> : <Answer {...props} />;
});

function Question({ message, isBusy, actions }: MessageViewProps) {
  const [isEdited, setEdited] = useState(false);
  const text = textsOf(message.parts).join("\n\n");
  if (isEdited) {
    return (
      <QuestionForm
        text={text}
        cancel={() => setEdited(false)}
        send={(next) => {
          setEdited(false);
          actions.edit(message, next);
        }}
      />
    );
  }
  return (
    <article className="message message-user" aria-label="You">
      <p className="message-question">{text}</p>
      <div className="message-actions">
        <Action icon="edit" word="Edit" isOff={isBusy} act={() => setEdited(true)} />
        <CopyAction text={text} />
      </div>
    </article>
  );
}

interface QuestionFormProps {
  readonly text: string;
  readonly send: (text: string) => void;
  readonly cancel: () => void;
}

function QuestionForm({ text, send, cancel }: QuestionFormProps) {
  const [draft, setDraft] = useState(text);
  return (
    <form
      className="message message-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.trim() !== "") send(draft.trim());
      }}
      onKeyDown={({ key }) => key === "Escape" && cancel()}
    >
      <textarea
        className="field"
        aria-label="Your message"
        value={draft}
        rows={3}
        // Edit moves the focus into the field.
        ref={(field) => field?.focus()}
        onChange={({ target }) => setDraft(target.value)}
      />
      <p className="message-note">Sending it removes the messages after it.</p>
      <div className="message-buttons">
        <button type="submit" className="button button-main">
          Send
        </button>
        <button type="button" className="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Two digits close together: the shortest figure. */
const TWO_DIGITS = /\d[^\p{L}]{0,2}\d/u;

function Answer(props: MessageViewProps) {
  const { message, written, isLive, actions } = props;
  const [showsWritten, setShowsWritten] = useState(false);
  const [marksTyped, setMarksTyped] = useState(false);
  const texts = textsOf(message.parts);
  const hasReferences = written?.some((text, index) => text !== texts[index]) === true;
  const receipt = useReceipt(message.id, {
    isWanted: !isLive && (hasReferences || marksTyped),
    length: texts.join("").length,
  });
  const isWaiting = message.parts.some(
    (part) => isToolPart(part) && part.state === "approval-requested",
  );
  let at = 0;
  return (
    <article className="message message-answer" aria-label="Answer">
      {message.parts.map((part, key) => {
        if (isToolPart(part)) {
          const { decide } = actions;
          return (
            <ToolCard key={key} part={part} turn={message.id} isLive={isLive} decide={decide} />
          );
        }
        if (part.type === "reasoning") return <Reasoning key={key} text={part.text} />;
        if (part.type !== "text") return null;
        const own = isLive ? undefined : written?.[at];
        at++;
        return (
          <AnswerText
            key={key}
            text={part.text}
            part={key}
            receipt={receipt}
            written={own}
            showsWritten={showsWritten}
            marksTyped={marksTyped}
          />
        );
      })}
      {!isLive && <End {...props} />}
      {!isLive && !isWaiting && (
        <AnswerActions {...props} text={texts.join("\n\n")}>
          {(hasReferences || texts.some((text) => TWO_DIGITS.test(text))) && (
            <AnswerSwitches
              hasReferences={hasReferences}
              hasFigures={texts.some((text) => /\d/.test(text))}
              showsWritten={showsWritten}
              setShowsWritten={setShowsWritten}
              marksTyped={marksTyped}
              setMarksTyped={setMarksTyped}
              typed={receipt?.typedFigures.length}
            />
          )}
        </AnswerActions>
      )}
    </article>
  );
}

interface AnswerActionsProps extends MessageViewProps {
  readonly text: string;
  readonly children: ReactNode;
}

function AnswerActions(props: AnswerActionsProps) {
  const { message, isBusy, isTroubled, actions, text, children } = props;
  // The error note offers the same actions.
  if (isTroubled && text === "") return null;
  return (
    <div className="message-actions">
      {text !== "" && <CopyAction text={text} />}
      <Action
        icon="retry"
        word="Answer again"
        isOff={isBusy}
        act={() => actions.regenerate(message.id)}
      />
      <LookInside message={message.id} />
      {children}
      <SavingsChip message={message} />
    </div>
  );
}

function LookInside({ message }: { readonly message: string }) {
  const { openTurn } = useConversation();
  return <Action icon="meter" word="Look inside" act={() => openTurn(message)} />;
}

/** Shows how the answer ended, unless it is complete. */
function End({ message, isTroubled }: MessageViewProps): ReactNode {
  const { error, stopped, outlined } = { ...(message.metadata as Ended | undefined) };
  if (stopped === true) return <p className="message-note">Stopped</p>;
  if (error === undefined && outlined !== undefined)
    return <p className="message-note">{outlined}</p>;
  if (error === undefined || isTroubled) return null;
  return (
    <p className="message-note">
      {titleFor(error)} <code>{error}</code>
    </p>
  );
}

/** Metadata of an answer that was stopped, failed, or needed another prompt. */
interface Ended {
  /** Error code. */
  readonly error?: string;
  readonly stopped?: boolean;
  /** Says which earlier turn the model has read in outline only, and why. */
  readonly outlined?: string;
}

function Reasoning({ text }: { readonly text: string }): ReactNode {
  if (text.trim() === "") return null;
  return (
    <details className="message-reasoning">
      <summary>Reasoning</summary>
      <p>{text}</p>
    </details>
  );
}

const COPIED_MS = 1_500;

function CopyAction({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <Action
      icon={isCopied ? "check" : "copy"}
      word={isCopied ? "Copied" : "Copy"}
      act={() => {
        copy().catch((error: unknown) => console.warn(error));
      }}
    />
  );
}

interface ActionProps {
  readonly icon: IconName;
  readonly word: string;
  readonly isOff?: boolean;
  readonly act: () => void;
}

function Action({ icon, word, isOff = false, act }: ActionProps) {
  return (
    <button
      type="button"
      className="message-action"
      aria-label={word}
      title={word}
      disabled={isOff}
      onClick={act}
    >
      <Icon name={icon} size={16} />
    </button>
  );
}
