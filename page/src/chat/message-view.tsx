import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "ai";
import { memo, type ReactNode, useState } from "react";
import { Button, copyExact, CopyButton, IconButton, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import type { IconName } from "../icon.tsx";
import { unchanging } from "../queries.ts";
import { SaveProgram } from "../programs/save-program.tsx";
import { plural, titleFor } from "../words.ts";
import { sizeWords } from "./follow-ups.ts";
import { AnswerText } from "./answer-text.tsx";
import type { Decide } from "./approval-form.tsx";
import { hasProof, Proof } from "./proof.tsx";
import { ToolCard } from "./tool-card.tsx";
import { askingIn, isToolPart, textsOf } from "./tool-part.ts";
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
  /** True for the first answer that shows what references save. */
  readonly isFirstProof: boolean;
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
  const [draft, setDraft] = useState<string>();
  const text = textsOf(message.parts).join("\n\n");
  const cancel = () => setDraft(undefined);
  if (draft === undefined) {
    return (
      <article className="message message-user" aria-label="You">
        <p className="message-question">{text}</p>
        <NamedVariables text={text} />
        <div className="message-actions">
          <Action icon="edit" word="Edit" isOff={isBusy} act={() => setDraft(text)} />
          <CopyButton className="message-action" text={text} label="Copy" />
        </div>
      </article>
    );
  }
  return (
    <form
      className="message message-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.trim() === "") return;
        cancel();
        actions.edit(message, draft.trim());
      }}
      onKeyDown={({ key }) => key === "Escape" && cancel()}
    >
      <textarea
        className="field"
        aria-label="Your message"
        value={draft}
        rows={3}
        autoFocus
        onChange={({ target }) => setDraft(target.value)}
      />
      <p className="message-note">Sending it removes the messages after it.</p>
      <SubmitButtons word="Send" onCancel={cancel} />
    </form>
  );
}

/** Chips of the variables that a question names, such as what was pasted into it. */
function NamedVariables({ text }: { readonly text: string }) {
  const { variables, open } = useConversation();
  const names = new Set(Array.from(text.matchAll(/\$([A-Za-z_]\w*)/g), ([, name = ""]) => name));
  const named = [...names].flatMap((name) => variables.get(name) ?? []);
  return named.map((info) => (
    <Button
      key={info.name}
      className="message-variable"
      title={`Open $${info.name}`}
      onClick={() => open({ tab: "variables", variable: info.name })}
    >
      <code>${info.name}</code> {sizeWords(info)}
    </Button>
  ));
}

/** Two digits close together: the shortest figure. */
const TWO_DIGITS = /\d[^\p{L}]{0,2}\d/u;

function Answer(props: MessageViewProps) {
  const { message, written, isLive, actions } = props;
  const [showsWritten, setShowsWritten] = useState(false);
  const [marksTyped, setMarksTyped] = useState(false);
  const { conversation } = useConversation().session;
  const texts = textsOf(message.parts);
  const hasReferences = written?.some((text, index) => text !== texts[index]) === true;
  // The answer is shown without its receipt until that is loaded.
  const { data: receipt } = useQuery({
    // Offsets are valid for one text only, which grows after an approval.
    queryKey: ["conversation", conversation.id, "receipt", message.id, texts.join("").length],
    queryFn: () => conversation.receipt(message.id),
    enabled: !isLive && (hasReferences || marksTyped),
    ...unchanging,
  });
  const typed = marksTyped ? receipt?.typedFigures.length : undefined;
  let at = 0;
  return (
    <article className="message message-answer" aria-label="Answer" onCopy={copyExact}>
      {message.parts.map((part, key) => {
        if (isToolPart(part)) {
          const { decide } = actions;
          return (
            <ToolCard key={key} part={part} turn={message.id} isLive={isLive} decide={decide} />
          );
        }
        if (part.type === "reasoning") return <Reasoning key={key} text={part.text} />;
        if (part.type !== "text") return null;
        const own = showsWritten && !isLive ? written?.[at] : undefined;
        at++;
        return (
          <AnswerText
            key={key}
            {...{ receipt, marksTyped }}
            text={part.text}
            part={key}
            written={own}
          />
        );
      })}
      {!isLive && <End {...props} />}
      {!isLive && hasProof(message) && <Proof message={message} isFirst={props.isFirstProof} />}
      {!isLive && askingIn(message).length === 0 && (
        <AnswerActions {...props} text={texts.join("\n\n")}>
          {hasReferences && (
            <Switch word="Show references" isOn={showsWritten} set={setShowsWritten} />
          )}
          {texts.some((text) => (hasReferences ? /\d/ : TWO_DIGITS).test(text)) && (
            <Switch word="Mark typed figures" isOn={marksTyped} set={setMarksTyped} />
          )}
          <span className="message-typed" role="status">
            {typed !== undefined &&
              `The model typed ${typed ? plural(typed, "figure") : "no figure"}.`}
          </span>
        </AnswerActions>
      )}
    </article>
  );
}

interface SwitchProps {
  readonly word: string;
  readonly isOn: boolean;
  readonly set: (on: boolean) => void;
}

function Switch({ word, isOn, set }: SwitchProps) {
  return (
    <Button role="switch" className="message-switch" aria-checked={isOn} onClick={() => set(!isOn)}>
      <span className="message-knob" aria-hidden="true" />
      {word}
    </Button>
  );
}

interface AnswerActionsProps extends MessageViewProps {
  readonly text: string;
  readonly children: ReactNode;
}

function AnswerActions(props: AnswerActionsProps) {
  const { message, isBusy, isTroubled, actions, text, children } = props;
  const { open } = useConversation();
  const [isSaving, setSaving] = useState(false);
  // The error note offers the same actions.
  if (isTroubled && text === "") return null;
  const look = () => open({ tab: "events", turn: message.id });
  const again = () => actions.regenerate(message.id);
  return (
    <div className="message-actions">
      {text !== "" && <CopyButton className="message-action" text={text} label="Copy" />}
      <Action icon="retry" word="Answer again" isOff={isBusy} act={again} />
      <Action icon="meter" word="Look inside" act={look} />
      {message.parts.some(isToolPart) && (
        <Action icon="run" word="Save as program" act={() => setSaving(true)} />
      )}
      {isSaving && <SaveProgram from={message.id} onClose={() => setSaving(false)} />}
      {children}
    </div>
  );
}

/** Shows how the answer ended, unless it is complete. */
function End({ message, isTroubled }: MessageViewProps): ReactNode {
  const { error, stopped, outlined } = { ...(message.metadata as Ended | undefined) };
  if (stopped === true) return <p className="message-note">Stopped</p>;
  if (error === undefined) return outlined && <p className="message-note">{outlined}</p>;
  if (isTroubled) return null;
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

interface ActionProps {
  readonly icon: IconName;
  readonly word: string;
  readonly isOff?: boolean;
  readonly act: () => void;
}

function Action({ icon, word, isOff, act }: ActionProps) {
  const rest = { label: word, title: word, size: 16, disabled: isOff, onClick: act };
  return <IconButton className="message-action" icon={icon} {...rest} />;
}
