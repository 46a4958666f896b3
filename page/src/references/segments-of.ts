import type { ReceiptSpan } from "../../../packages/client/src/client.ts";

/** A part of an answer: text with inline spans, or a value as a block. */
export type Segment =
  | { readonly kind: "text"; readonly start: number; readonly end: number }
  | { readonly kind: "block"; readonly span: ReceiptSpan };

/** Splits an answer at values that are Markdown blocks: tables, lists, headings … */
export function segmentsOf(shown: string, spans: readonly ReceiptSpan[]): readonly Segment[] {
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

function isBlock(shown: string, { start, end }: ReceiptSpan): boolean {
  const text = shown.slice(start, end);
  const isAlone =
    (start === 0 || shown[start - 1] === "\n" || text.startsWith("\n")) &&
    (end === shown.length || shown[end] === "\n" || text.endsWith("\n"));
  const begins = /^\s*(?:#{1,6} |[>|]|```|~~~|[*+-] |\d+[.)] )/;
  return isAlone && (text.trim().includes("\n") || begins.test(text));
}
