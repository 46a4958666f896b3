/** What a template is made of. Lines count from 1. */
export type TemplatePart =
  /** One or more lines of a prompt, as they are. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "heading"; readonly line: number; readonly title: string }
  /** `name` as it is written, without `@`; `value` is the rest, without blanks at its ends. */
  | {
      readonly kind: "directive";
      readonly line: number;
      readonly name: string;
      readonly value: string;
    };

interface Fence {
  readonly mark: string;
  readonly length: number;
}

const BYTE_ORDER_MARK = "\uFEFF";
/** The characters with which a heading, a directive or a fence begins. */
const MARKS: ReadonlySet<string | undefined> = new Set("#@ \t>`~");
const HEADING = /^##[ \t]/;
const DIRECTIVE = /^@([A-Za-z][^ \t]*)/;
const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/s;

/**
 * The parts of a template. What stands between fences is text, whatever it looks like: a fence is a line of
 * three or more backticks or tildes, closed by at least as many of the same, else open to the end. A byte
 * order mark at the start is no part of the text. Cost: linear.
 */
export function* templateParts(written: string): Generator<TemplatePart> {
  const text = written.startsWith(BYTE_ORDER_MARK) ? written.slice(1) : written;
  let line = 0;
  let textStart = 0;
  let fence: Fence | undefined;
  for (const { start, end, next } of linesOf(text)) {
    line++;
    // Most lines are nothing but text, and need not be cut out.
    if (!MARKS.has(text[start])) continue;
    const content = text.slice(start, end);
    const part = fence === undefined ? marked(content, line) : undefined;
    fence = fenceAfter(content, fence);
    if (part === undefined) continue;
    if (textStart < start) yield { kind: "text", text: text.slice(textStart, start) };
    yield part;
    textStart = next;
  }
  if (textStart < text.length) yield { kind: "text", text: text.slice(textStart) };
}

/** Where each line starts and ends, and where the next one starts. */
function* linesOf(text: string): Generator<{ start: number; end: number; next: number }> {
  let lineFeed = indexOf(text, "\n", 0);
  let carriageReturn = indexOf(text, "\r", 0);
  for (let start = 0; start < text.length;) {
    const end = Math.min(lineFeed, carriageReturn);
    const next = end + (carriageReturn + 1 === lineFeed ? 2 : 1);
    yield { start, end, next };
    start = next;
    if (lineFeed < start) lineFeed = indexOf(text, "\n", start);
    if (carriageReturn < start) carriageReturn = indexOf(text, "\r", start);
  }
}

function indexOf(text: string, mark: string, start: number): number {
  const index = text.indexOf(mark, start);
  return index === -1 ? text.length : index;
}

/** The fence that is open behind the line. */
function fenceAfter(content: string, open: Fence | undefined): Fence | undefined {
  const [, run, rest = ""] = FENCE.exec(content) ?? [];
  if (run === undefined) return open;
  const [mark = ""] = run;
  if (open === undefined) {
    // ```so``` is a line with code in it.
    const isInline = mark === "`" && rest.includes(mark);
    return isInline ? undefined : { mark, length: run.length };
  }
  const closes = mark === open.mark && run.length >= open.length && trimBlanks(rest) === "";
  return closes ? undefined : open;
}

function marked(content: string, line: number): TemplatePart | undefined {
  if (HEADING.test(content)) return { kind: "heading", line, title: trimBlanks(content.slice(2)) };
  const [opening, name] = DIRECTIVE.exec(content) ?? [];
  if (opening === undefined || name === undefined) return undefined;
  return { kind: "directive", line, name, value: trimBlanks(content.slice(opening.length)) };
}

/** Without the spaces and tabs at its ends. Cost: linear, whatever is in between. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

export function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
