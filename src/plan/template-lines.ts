/** A line of a template, by what it means. Lines count from 1. */
export type TemplateLine =
  /** A part of the prompt, with its line break. */
  | { readonly kind: "text"; readonly line: number; readonly text: string }
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
const HEADING = /^##[ \t]/;
const DIRECTIVE = /^@([A-Za-z][^ \t]*)/;
const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/s;

/**
 * The lines of a template. What stands between fences is text, whatever it looks like: a fence is a line of
 * three or more backticks or tildes, closed by at least as many of the same, else open to the end. A byte
 * order mark at the start is no part of the text. Cost: linear.
 */
export function* templateLines(written: string): Generator<TemplateLine> {
  const text = written.startsWith(BYTE_ORDER_MARK) ? written.slice(1) : written;
  let line = 0;
  let fence: Fence | undefined;
  for (const { content, lineBreak } of linesOf(text)) {
    line++;
    const wasOpen = fence !== undefined;
    fence = fenceAfter(content, fence);
    const isCode = wasOpen || fence !== undefined;
    yield (
      (isCode ? undefined : marked(content, line)) ?? {
        kind: "text",
        line,
        text: content + lineBreak,
      }
    );
  }
}

function* linesOf(text: string): Generator<{ content: string; lineBreak: string }> {
  let start = 0;
  for (const { 0: lineBreak, index } of text.matchAll(/\r\n|\r|\n/g)) {
    yield { content: text.slice(start, index), lineBreak };
    start = index + lineBreak.length;
  }
  if (start < text.length) yield { content: text.slice(start), lineBreak: "" };
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

function marked(content: string, line: number): TemplateLine | undefined {
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
