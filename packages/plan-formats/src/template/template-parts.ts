/** A part of a template. Lines count from 1. */
export type TemplatePart =
  /** One or more lines of a prompt, unchanged. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "heading"; readonly line: number; readonly title: string }
  /** `name` as written, without `@`. `value` is the rest, trimmed. */
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
/** A line with its break, if it has one. */
const LINE = /([^\r\n]+)(?:\r\n?|\n|$)|\r\n?|\n/g;
const HEADING = /^##[ \t]/;
const DIRECTIVE = /^@([A-Za-z][^ \t]*)/;
const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/s;

/**
 * Splits a template into parts. Text between fences is always text. A fence is a line of three or more
 * backticks or tildes. At least as many of the same character close it; otherwise it extends to the end. A
 * byte order mark at the start is ignored. Cost: linear.
 */
export function* templateParts(written: string): Generator<TemplatePart> {
  const text = written.startsWith(BYTE_ORDER_MARK) ? written.slice(1) : written;
  let line = 0;
  let textStart = 0;
  let fence: Fence | undefined;
  for (const { 0: whole, 1: content = "", index: start } of text.matchAll(LINE)) {
    line++;
    const part = fence === undefined ? marked(content, line) : undefined;
    fence = fenceAfter(content, fence);
    if (part === undefined) continue;
    if (textStart < start) yield { kind: "text", text: text.slice(textStart, start) };
    yield part;
    textStart = start + whole.length;
  }
  if (textStart < text.length) yield { kind: "text", text: text.slice(textStart) };
}

function fenceAfter(content: string, open: Fence | undefined): Fence | undefined {
  const [, run, rest = ""] = FENCE.exec(content) ?? [];
  if (run === undefined) return open;
  const [mark = ""] = run;
  if (open === undefined) {
    // ```so``` is a line with inline code.
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

/** Trims spaces and tabs at both ends. Cost: linear, whatever is between them. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
