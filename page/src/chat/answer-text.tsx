import { type ReactNode, useEffect, useMemo, useState } from "react";
import type {
  AnswerReceipt,
  ReceiptSpan,
  TypedFigure,
} from "../../../packages/client/src/client.ts";
import {
  Markdown,
  type RenderMarked,
  marked,
  marksIn,
  withoutMarks,
} from "../markdown/markdown.tsx";
import { piecesOf } from "../references/pieces-of.ts";
import { ReferenceMark } from "../references/reference-mark.tsx";
import { segmentsOf } from "../references/segments-of.ts";
import { BlockValue } from "./block-value.tsx";

interface AnswerTextProps {
  readonly text: string;
  /** Index among the parts of its message. */
  readonly part: number;
  /** The sources of its values, if known. */
  readonly receipt: AnswerReceipt | undefined;
  /** The text as the model wrote it, if known. */
  readonly written: string | undefined;
  readonly showsWritten: boolean;
  /** Marks the figures that the model typed. */
  readonly marksTyped: boolean;
}

/** An answer's text with its values marked, or as the model wrote it. */
export function AnswerText(props: AnswerTextProps) {
  const { part, receipt, showsWritten, marksTyped, written } = props;
  // Only this page makes marks: neither the model's words nor a value contains them.
  const text = withoutMarks(props.text);
  const spans = useMemo(
    () => placesIn(receipt?.spans, part, props.text),
    [receipt, part, props.text],
  );
  const typed = useMemo(
    () => (marksTyped ? placesIn(receipt?.typedFigures, part, props.text) : []),
    [receipt, part, props.text, marksTyped],
  );
  const segments = useMemo(() => segmentsOf(text, spans), [text, spans]);
  if (showsWritten && written !== undefined) return <WrittenText text={withoutMarks(written)} />;
  if (spans.length + typed.length === 0) return <Markdown text={text} />;
  return segments.map((segment, key) =>
    segment.kind === "block" ? (
      <ReferenceMark key={key} span={segment.span} isBlock>
        <BlockValue span={segment.span}>
          <Markdown text={text.slice(segment.span.start, segment.span.end)} />
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
  let before = 0;
  // The places are in order.
  const moved = (at: number) => {
    while ((marks[before] ?? Infinity) < at) before++;
    return at - before;
  };
  return own.map((place) => ({ ...place, start: moved(place.start), end: moved(place.end) }));
}

interface MarkedTextProps {
  readonly text: string;
  readonly range: { readonly start: number; readonly end: number };
  readonly spans: readonly ReceiptSpan[];
  readonly typed: readonly TypedFigure[];
}

function MarkedText({ text, range, spans, typed }: MarkedTextProps) {
  const { start, end } = range;
  const { source, render } = useMemo(() => {
    const inside = [...spans, ...typed]
      .filter((place) => place.start >= start && place.end <= end)
      .toSorted((a, b) => a.start - b.start);
    const render: RenderMarked = (index, shown, isLinked) => markOf(inside[index], shown, isLinked);
    return { source: withMarks(text, { start, end }, inside), render };
  }, [text, start, end, spans, typed]);
  return <Markdown text={source} renderMarked={render} />;
}

function markOf(
  place: ReceiptSpan | TypedFigure | undefined,
  shown: ReactNode,
  isLinked: boolean,
): ReactNode {
  if (place === undefined) return shown;
  if (!("reference" in place)) {
    return (
      <mark className="typed-figure" title="Typed by the model">
        {shown}
      </mark>
    );
  }
  return isLinked ? shown : <ReferenceMark span={place}>{shown}</ReferenceMark>;
}

function withMarks(
  text: string,
  range: { readonly start: number; readonly end: number },
  places: readonly { readonly start: number; readonly end: number }[],
): string {
  let source = "";
  let at = range.start;
  for (const [index, { start, end }] of places.entries()) {
    source += text.slice(at, start) + marked(index, text.slice(start, end));
    at = end;
  }
  return source + text.slice(at, range.end);
}

/** Plain text with highlighted references. */
function WrittenText({ text }: { readonly text: string }) {
  const [pieces, setPieces] = useState<Awaited<ReturnType<typeof piecesOf>>>();
  useEffect(() => {
    let isCurrent = true;
    piecesOf(text)
      .then((found) => isCurrent && setPieces(found))
      .catch((error: unknown) => console.warn(error));
    return () => {
      isCurrent = false;
    };
  }, [text]);
  if (pieces === undefined) return <div className="answer-written">{text}</div>;
  return (
    <div className="answer-written">
      {pieces.literals.map((literal, key) => (
        <span key={key}>
          {literal}
          <span className="answer-reference">{pieces.references[key]?.source}</span>
        </span>
      ))}
    </div>
  );
}
