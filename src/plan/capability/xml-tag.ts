import * as limits from "../../limits.ts";
import { parseXml, XmlCdata, type XmlElement, XmlError, XmlText } from "@rgrove/parse-xml";

export interface CapabilityTag {
  readonly attributes: ReadonlyMap<string, string>;
  /** Empty for a tag without a body. */
  readonly body: string;
}

/** What is wrong, and how many characters into the text that was read. */
export interface XmlFault {
  readonly offset: number;
  readonly message: string;
}

export type TagReading =
  | { readonly tag: CapabilityTag; readonly fault?: undefined }
  | { readonly tag?: undefined; readonly fault: XmlFault };

/** The source with all its line breaks as XML reads them, so that a position in it stays one. */
export function withLineFeeds(source: string): string {
  return source.replaceAll(/\r\n?/g, "\n");
}

/** One tag, read from its `<` to its end. Elements in it are not looked for: `TagBounds` has refused them. */
export function readTag(source: string): TagReading {
  // The parser would normalize line breaks too, in time that grows with the square of their number.
  const text = withLineFeeds(source);
  try {
    const { root } = parseXml(text, { preserveCdata: true });
    return root === null ? faultAt(0, "There is no tag.") : tagOf(root);
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    return faultAt(offsetOf(text, error.pos), sentenceOf(error.message));
  }
}

function tagOf({ attributes, children }: XmlElement): TagReading {
  const read = new Map(Object.entries(attributes));
  if (read.size > limits.maxTagAttributes) {
    return faultAt(
      0,
      `A tag has at most ${limits.maxTagAttributes} attributes, this has ${read.size}.`,
    );
  }
  for (const [name, { length }] of read) {
    if (length <= limits.maxAttributeChars) continue;
    const advice = `An attribute has at most ${limits.maxAttributeChars} characters`;
    return faultAt(0, `${advice}, "${name.slice(0, 80)}" has ${length}.`);
  }
  const parts: BodyPart[] = [];
  for (const child of children) {
    if (!(child instanceof XmlText)) continue;
    parts.push({ text: child.text, verbatim: child instanceof XmlCdata });
  }
  const body = withoutLayout(parts);
  return body.length > limits.maxTagBodyChars
    ? faultAt(
        0,
        `A body has at most ${limits.maxTagBodyChars} characters, this has ${body.length}.`,
      )
    : { tag: { attributes: read, body } };
}

function faultAt(offset: number, message: string): TagReading {
  return { fault: { offset, message } };
}

/** The parser counts characters above U+FFFF once, its own lines and columns do not. */
function offsetOf(text: string, characters: number): number {
  let offset = 0;
  for (let count = 0; count < characters && offset < text.length; count++) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  }
  return offset;
}

/** Its message without the place and the excerpt behind it. */
function sentenceOf(message: string): string {
  const end = message.lastIndexOf(" (line ");
  return `${end < 0 ? message : message.slice(0, end)}.`;
}

/** A stretch of a tag's body: `verbatim` is what stood in CDATA. */
interface BodyPart {
  readonly text: string;
  readonly verbatim: boolean;
}

/**
 * The body without what the layout of the XML brought in: blanks at either end, and the indentation
 * that all lines behind the first have. A body with CDATA keeps its inside as written; only blanks
 * around the CDATA go.
 */
function withoutLayout(parts: readonly BodyPart[]): string {
  const last = parts.length - 1;
  if (!parts.some(({ verbatim }) => verbatim)) {
    return withoutIndentation(parts.map(({ text }) => text).join("")).trim();
  }
  return parts
    .map((part, index) => trimmed(part, { first: index === 0, last: index === last }))
    .join("");
}

function trimmed({ text, verbatim }: BodyPart, place: { first: boolean; last: boolean }): string {
  if (verbatim) return text;
  const fromStart = place.first ? text.trimStart() : text;
  return place.last ? fromStart.trimEnd() : fromStart;
}

function withoutIndentation(text: string): string {
  const [first = "", ...lines] = text.split("\n");
  let indentation: string | undefined;
  for (const line of lines) {
    if (line.trim() === "") continue;
    const own = line.slice(0, line.length - line.trimStart().length);
    indentation = indentation === undefined ? own : commonStart(indentation, own);
  }
  const indented = indentation?.length ?? 0;
  const rest = lines.map((line) => (line.trim() === "" ? "" : line.slice(indented)));
  return [first, ...rest].join("\n");
}

function commonStart(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return left.slice(0, length);
}
