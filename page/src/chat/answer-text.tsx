import { type ReactNode, useMemo, useState } from "react";
import type {
  AnswerReceipt,
  ReceiptSpan,
  TypedFigure,
} from "../../../packages/client/src/client.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Segments } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import {
  isJsonNumber,
  Markdown,
  type RenderMarked,
  marked,
  marksIn,
  withoutMarks,
} from "../markdown/markdown.tsx";
import { digitsOf, numberWords } from "../words.ts";
import { ReferenceMark } from "../references/reference-mark.tsx";
import { Problem } from "../variables/problem.tsx";
import { ChartOfRecords } from "../variables/record-forms.tsx";
import { useRecords } from "../variables/use-records.ts";
import { isDrawable } from "./follow-ups.ts";
import { Highlighted, useSources } from "./tool-card.tsx";

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
export function AnswerText({ part, receipt, marksTyped, written, ...own }: AnswerTextProps) {
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
