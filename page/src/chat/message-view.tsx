import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "ai";
import { memo, type ReactNode, useMemo, useState } from "react";
import {
  Button,
  CopyButton,
  copyExact,
  Form,
  IconButton,
  type IconName,
  isOfInputMethod,
  Problem,
  Segments,
  SubmitButtons,
} from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";
import { SaveProgram } from "../programs/programs.tsx";
import { digitsOf, numberWords, plural, titleFor, messageIn } from "../words.ts";
import { isDrawable, sizeWords } from "./follow-ups.ts";
import { type Decide, Highlighted, ToolCard, useSources } from "./tool-card.tsx";
import { hasProof, Proof } from "./proof.tsx";
import { askingIn, isToolPart, metadataOf, textsOf } from "./tool-part.ts";
import type {
  AnswerReceipt,
  ReceiptSpan,
  TypedFigure,
} from "../../../packages/client/src/client.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import {
  isJsonNumber,
  Markdown,
  marked,
  marksIn,
  type RenderMarked,
  withoutMarks,
} from "../markdown/markdown.tsx";
import { ReferenceMark } from "../references/reference-mark.tsx";
import { ChartOfRecords } from "../variables/record-table.tsx";
import { useRecords } from "../variables/use-records.ts";
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
          <CopyButton text={text} label="Copy" />
        </div>
      </article>
    );
  }
  return (
    <Form
      className="message message-edit"
      onSubmit={() => {
        if (messageIn(draft) === "") return;
        cancel();
        actions.edit(message, messageIn(draft));
      }}
      onKeyDown={(event) => event.key === "Escape" && !isOfInputMethod(event) && cancel()}
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
    </Form>
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
      <code className="reference-name">${info.name}</code> {sizeWords(info)}
    </Button>
  ));
}

/** Two digits close together: the shortest figure. */
const TWO_DIGITS = /\d[^\p{L}]{0,2}\d/u;

function Answer(props: MessageViewProps) {
  const { message, written, isLive, isBusy, isTroubled, actions } = props;
  const [isSaving, setSaving] = useState(false);
  const [showsWritten, setShowsWritten] = useState(false);
  const [marksTyped, setMarksTyped] = useState(false);
  const { session, open } = useConversation();
  const { conversation } = session;
  const texts = textsOf(message.parts);
  const text = texts.join("\n\n");
  // The error note offers the same actions.
  const isSilent = isTroubled && text === "";
  const look = () => open({ tab: "events", turn: message.id });
  const again = () => actions.regenerate(message.id);
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
      {!isLive && askingIn(message).length === 0 && !isSilent && (
        <div className="message-actions">
          {text !== "" && <CopyButton text={text} label="Copy" />}
          <Action icon="retry" word="Answer again" isOff={isBusy} act={again} />
          <Action icon="meter" word="Look inside" act={look} />
          {message.parts.some(isToolPart) && (
            <Action icon="run" word="Save as program" act={() => setSaving(true)} />
          )}
          {isSaving && <SaveProgram from={message.id} onClose={() => setSaving(false)} />}
          {hasReferences && (
            <Switch word="Show references" isOn={showsWritten} set={setShowsWritten} />
          )}
          {texts.some((one) => (hasReferences ? /\d/ : TWO_DIGITS).test(one)) && (
            <Switch word="Mark typed figures" isOn={marksTyped} set={setMarksTyped} />
          )}
          <span className="message-typed" role="status">
            {typed !== undefined &&
              `The model typed ${typed ? plural(typed, "figure") : "no figure"}.`}
          </span>
        </div>
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
    <label className="message-switch">
      <input type="checkbox" role="switch" checked={isOn} onChange={() => set(!isOn)} />
      {word}
    </label>
  );
}

/** Shows how the answer ended, unless it is complete. */
function End({ message, isTroubled }: MessageViewProps): ReactNode {
  const { error, stopped, outlined } = metadataOf(message);
  if (stopped === true) return <p className="message-note">Stopped</p>;
  if (error === undefined) return outlined && <p className="message-note">{outlined}</p>;
  if (isTroubled) return null;
  return (
    <p className="message-note">
      {titleFor(error)} <code>{error}</code>
    </p>
  );
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
  return (
    <IconButton isSmall icon={icon} label={word} title={word} disabled={isOff} onClick={act} />
  );
}

interface AnswerTextProps {
  readonly text: string;
  /** Index among the parts of its message. */
  readonly part: number;
  /** The sources of its values, if known. */
  readonly receipt: AnswerReceipt | undefined;
  /** The text as the model wrote it, if it is to be shown. */
  readonly written: string | undefined;
  /** Marks the figures that the model typed. */
  readonly marksTyped: boolean;
}

/** An answer's text with its values marked, or as the model wrote it. */
function AnswerText({ part, receipt, marksTyped, written, ...own }: AnswerTextProps) {
  // Only this page makes marks: neither the model's words nor a value contains them.
  const text = withoutMarks(own.text);
  const spans = useMemo(() => placesIn(receipt?.spans, part, own.text), [receipt, part, own.text]);
  const typed = useMemo(
    () => (marksTyped ? placesIn(receipt?.typedFigures, part, own.text) : []),
    [receipt, part, own.text, marksTyped],
  );
  const segments = useMemo(() => segmentsOf(text, spans), [text, spans]);
  if (written !== undefined) return <WrittenText text={withoutMarks(written)} />;
  if (spans.length + typed.length === 0) return <Markdown text={text} />;
  return segments.map((segment, key) =>
    segment.kind === "block" ? (
      <ReferenceMark key={key} span={segment.span} isBlock>
        <BlockValue span={segment.span}>
          <Markdown text={text.slice(segment.span.start, segment.span.end)} isValue />
        </BlockValue>
      </ReferenceMark>
    ) : (
      <MarkedText key={key} text={text} range={segment} spans={spans} typed={typed} />
    ),
  );
}

/** Moves places by the characters that `withoutMarks` removes before them. */
function placesIn<Place extends TypedFigure | ReceiptSpan>(
  places: readonly Place[] = [],
  part: number,
  text: string,
): readonly Place[] {
  const own = places.filter((place) => place.part === part && place.end > place.start);
  const marks = marksIn(text);
  if (marks.length === 0) return own;
  const moved = (at: number) => at - marks.filter((mark) => mark < at).length;
  return own.map((place) => ({ ...place, start: moved(place.start), end: moved(place.end) }));
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** A part of an answer: text with inline spans, or a value as a block. */
type Segment =
  | ({ readonly kind: "text" } & Range)
  | { readonly kind: "block"; readonly span: ReceiptSpan };

/** Splits an answer at values that are Markdown blocks: tables, lists, headings … */
function segmentsOf(shown: string, spans: readonly ReceiptSpan[]): readonly Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (const span of spans.filter((one) => isBlock(shown, one))) {
    if (span.start > at) segments.push({ kind: "text", start: at, end: span.start });
    segments.push({ kind: "block", span });
    at = span.end;
  }
  if (at < shown.length) segments.push({ kind: "text", start: at, end: shown.length });
  return segments;
}

function isBlock(shown: string, { start, end }: Range): boolean {
  const text = shown.slice(start, end);
  const isAlone =
    (start === 0 || shown[start - 1] === "\n" || text.startsWith("\n")) &&
    (end === shown.length || shown[end] === "\n" || text.endsWith("\n"));
  const begins = /^\s*(?:#{1,6} |[>|]|```|~~~|[*+-] |\d+[.)] )/;
  return isAlone && (text.trim().includes("\n") || begins.test(text));
}

interface MarkedTextProps {
  readonly text: string;
  readonly range: Range;
  readonly spans: readonly ReceiptSpan[];
  readonly typed: readonly TypedFigure[];
}

function MarkedText({ text, range: { start, end }, spans, typed }: MarkedTextProps) {
  const { source, render } = useMemo(() => {
    const places = [...spans, ...typed]
      .filter((place) => place.start >= start && place.end <= end)
      .toSorted((a, b) => a.start - b.start);
    let source = "";
    let at = start;
    for (const [index, place] of places.entries()) {
      source += text.slice(at, place.start) + marked(index, text.slice(place.start, place.end));
      at = place.end;
    }
    const render: RenderMarked = (index, shown, isLinked) => markOf(places[index], shown, isLinked);
    return { source: source + text.slice(at, end), render };
  }, [text, start, end, spans, typed]);
  return <Markdown text={source} renderMarked={render} />;
}

function markOf(
  place: ReceiptSpan | TypedFigure | undefined,
  shown: ReactNode,
  isLinked: boolean,
): ReactNode {
  if (place === undefined) return shown;
  if ("reference" in place) {
    const value = numberOf(shown, place);
    return isLinked ? value : <ReferenceMark span={place}>{value}</ReferenceMark>;
  }
  return (
    <mark className="typed-figure" title="Typed by the model">
      {shown}
    </mark>
  );
}

/** Formats a number as in its table. */
function numberOf(shown: ReactNode, { path }: ReceiptSpan): ReactNode {
  if (typeof shown !== "string" || !isJsonNumber(shown)) return shown;
  const words = numberWords(Number(shown), path.split(".").at(-1) ?? "", digitsOf([Number(shown)]));
  return words === shown ? shown : <span data-value={shown}>{words}</span>;
}

/** Plain text with highlighted references. */
function WrittenText({ text }: { readonly text: string }) {
  return (
    <div className="answer-written">
      <Highlighted text={text} sources={useSources(text)} />
    </div>
  );
}

const FORMS = ["Table", "Chart"] as const;

interface BlockValueProps {
  readonly span: ReceiptSpan;
  /** The value as rendered in the answer. */
  readonly children: ReactNode;
}

/** A value in a block of its own. Offers a chart if it can be drawn. */
function BlockValue({ span: { variable: name, path, version }, children }: BlockValueProps) {
  const { variables } = useConversation();
  const [form, setForm] = useState<(typeof FORMS)[number]>("Table");
  const info = variables.get(name);
  if (info === undefined || path !== "" || !isDrawable(info)) return children;
  const hasChanged = version !== undefined && version !== info.version;
  return (
    <>
      <Segments
        className="reference-forms"
        label={`$${name} shown as`}
        values={FORMS}
        value={form}
        onChoose={setForm}
      />
      {form === "Table" ? (
        children
      ) : (
        <div className="reference-chart">
          {hasChanged && (
            <p className="reference-note">
              It has changed since. The chart shows its current value.
            </p>
          )}
          <ValueChart key={info.version} info={info} />
        </div>
      )}
    </>
  );
}

function ValueChart({ info }: { readonly info: VariableInfo }) {
  const records = useRecords(info);
  if (records.error !== undefined) return <Problem error={records.error} />;
  return <ChartOfRecords records={records} name={info.name} />;
}
