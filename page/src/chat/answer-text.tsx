import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Markdown, type RenderMarked, marked, withoutMarks } from "../markdown/markdown.tsx";
import { align, piecesOf, segmentsOf, type Span } from "../references/align.ts";
import { ReferenceMark } from "../references/reference-mark.tsx";
import { BlockValue } from "./block-value.tsx";

interface AnswerTextProps {
  readonly text: string;
  /** As the model wrote it, when that is known. */
  readonly written: string | undefined;
  readonly showsWritten: boolean;
  readonly turn: string;
}

/** An answer's text as a person reads it, with the values marked; or as the model wrote it. */
export function AnswerText({ showsWritten, turn, ...forms }: AnswerTextProps) {
  // Nothing but this page makes marks: not the model's words, and no value.
  const text = withoutMarks(forms.text);
  const written = forms.written === undefined ? undefined : withoutMarks(forms.written);
  const spans = useSpans(text, written);
  const segments = useMemo(() => segmentsOf(text, spans), [text, spans]);
  if (showsWritten && written !== undefined) return <WrittenText text={written} />;
  if (spans.length === 0) return <Markdown text={text} />;
  return segments.map((segment, key) =>
    segment.kind === "block" ? (
      <ReferenceMark key={key} span={segment.span} turn={turn} isBlock>
        <BlockValue span={segment.span} turn={turn}>
          <Markdown text={text.slice(segment.span.start, segment.span.end)} />
        </BlockValue>
      </ReferenceMark>
    ) : (
      <MarkedText key={key} text={text} range={segment} spans={spans} turn={turn} />
    ),
  );
}

interface MarkedTextProps {
  readonly text: string;
  readonly range: { readonly start: number; readonly end: number };
  readonly spans: readonly Span[];
  readonly turn: string;
}

function MarkedText({ text, range, spans, turn }: MarkedTextProps) {
  const { start, end } = range;
  const { source, render } = useMemo(() => {
    const inside = spans.filter((span) => span.start >= start && span.end <= end);
    const render: RenderMarked = (index, shown, isLinked) =>
      markOf(inside[index], { shown, isLinked, turn });
    return { source: withMarks(text, { start, end }, inside), render };
  }, [text, start, end, spans, turn]);
  return <Markdown text={source} renderMarked={render} />;
}

function markOf(
  span: Span | undefined,
  { shown, isLinked, turn }: { shown: ReactNode; isLinked: boolean; turn: string },
): ReactNode {
  if (span === undefined || isLinked) return shown;
  return (
    <ReferenceMark span={span} turn={turn}>
      {shown}
    </ReferenceMark>
  );
}

function withMarks(
  text: string,
  range: { readonly start: number; readonly end: number },
  spans: readonly Span[],
): string {
  let source = "";
  let at = range.start;
  for (const [index, { start, end }] of spans.entries()) {
    source += text.slice(at, start) + marked(index, text.slice(start, end));
    at = end;
  }
  return source + text.slice(at, range.end);
}

function useSpans(text: string, written: string | undefined): readonly Span[] {
  const [spans, setSpans] = useState<{ readonly text: string; readonly spans: readonly Span[] }>();
  useEffect(() => {
    if (written === undefined) return undefined;
    let isCurrent = true;
    const find = async () => {
      const found = align(await piecesOf(written), text);
      if (isCurrent) setSpans({ text, spans: found });
    };
    find().catch((error: unknown) => console.warn(error));
    return () => {
      isCurrent = false;
    };
  }, [text, written]);
  // Those of another text would cut this one anywhere.
  return spans !== undefined && spans.text === text && written !== undefined ? spans.spans : NONE;
}

const NONE: readonly Span[] = [];

/** Plain, with the references in their colour. */
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
