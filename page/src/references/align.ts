import { expandText, formatPath } from "../../../src/references.ts";

/** A part of an answer that stands where the model wrote a reference. */
export interface Span {
  /** As the model wrote it. */
  readonly source: string;
  readonly name: string;
  readonly path: string;
  /** In the text as it is shown. */
  readonly start: number;
  readonly end: number;
}

interface Written {
  readonly source: string;
  readonly name: string;
  readonly path: string;
}

/** Between the literal pieces of a text. */
const HOLE = "\uE002";

/** Literal pieces, one more than references, which stand between them. */
export interface Pieces {
  readonly literals: readonly string[];
  readonly references: readonly Written[];
}

/** The text as the engine reads it: what is in code or in a URL is no reference. */
export async function piecesOf(text: string): Promise<Pieces> {
  if (text.includes(HOLE)) return { literals: [text], references: [] };
  const found: { name: string; path: string }[] = [];
  const sources: string[] = [];
  const expanded = expandText(
    ({ name, path }) => {
      found.push({ name, path: formatPath(path) });
      return { found: true, value: HOLE };
    },
    { onResolved: (source) => sources.push(source) },
  );
  const writer = expanded.writable.getWriter();
  void writer.write(text).then(() => writer.close());
  let whole = "";
  const reader = expanded.readable.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) whole += part.value;
  const literals = whole.split(HOLE);
  // An escaped reference is looked up, too, and is none.
  const isKnown = found.length === sources.length && literals.length === sources.length + 1;
  if (!isKnown) return { literals: [text], references: [] };
  const references = found.map((reference, index) => ({
    ...reference,
    source: sources[index] ?? "",
  }));
  return { literals, references };
}

/**
 * Where in the shown text the references' values stand. Nothing, if the literal pieces can lie in more
 * than one way, or in none; references that stayed as written are left out.
 */
export function align({ literals, references }: Pieces, shown: string): readonly Span[] {
  const first = literals[0] ?? "";
  const last = literals.at(-1) ?? "";
  if (references.length === 0 || !shown.startsWith(first) || !shown.endsWith(last)) return [];
  const end = shown.length - last.length;
  if (end < first.length) return [];
  const inner = literals.slice(1, -1);
  const leftmost = placesFromLeft(inner, { shown, from: first.length, to: end });
  const rightmost = placesFromRight(inner, { shown, from: first.length, to: end });
  if (leftmost === undefined || rightmost === undefined) return [];
  if (leftmost.some((place, index) => place !== rightmost[index])) return [];
  return references.flatMap((reference, index) => {
    const before = leftmost[index - 1];
    const start = before === undefined ? first.length : before + (inner[index - 1] ?? "").length;
    const span = { ...reference, start, end: leftmost[index] ?? end };
    return shown.slice(span.start, span.end) === reference.source ? [] : [span];
  });
}

interface Range {
  readonly shown: string;
  readonly from: number;
  readonly to: number;
}

function placesFromLeft(pieces: readonly string[], { shown, from, to }: Range) {
  const places: number[] = [];
  let at = from;
  for (const piece of pieces) {
    const place = shown.indexOf(piece, at);
    if (place === -1 || place + piece.length > to) return undefined;
    places.push(place);
    at = place + piece.length;
  }
  return places;
}

function placesFromRight(pieces: readonly string[], { shown, from, to }: Range) {
  const places: number[] = [];
  let at = to;
  for (const piece of pieces.toReversed()) {
    const place = at < piece.length ? -1 : shown.lastIndexOf(piece, at - piece.length);
    if (place < from) return undefined;
    places.push(place);
    at = place;
  }
  return places.toReversed();
}

/** A part of an answer: text with inline spans, or one value as a block of its own. */
export type Segment =
  | { readonly kind: "text"; readonly start: number; readonly end: number }
  | { readonly kind: "block"; readonly span: Span };

/** Cut where values stand alone and are blocks of Markdown themselves: tables, lists, headings … */
export function segmentsOf(shown: string, spans: readonly Span[]): readonly Segment[] {
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

function isBlock(shown: string, { start, end }: Span): boolean {
  const text = shown.slice(start, end);
  const isAlone =
    (start === 0 || shown[start - 1] === "\n" || text.startsWith("\n")) &&
    (end === shown.length || shown[end] === "\n" || text.endsWith("\n"));
  const begins = /^\s*(?:#{1,6} |[>|]|```|~~~|[*+-] |\d+[.)] )/;
  return isAlone && (text.trim().includes("\n") || begins.test(text));
}
