// A second implementation of the reference language, slow and simple, for comparison on random texts. It is
// written from the specification (design/references.md) alone, not from the engine. It avoids all
// optimization: every position examines its surroundings from the beginning. How values are read and printed has
// tests of its own.

import { isScalar, type Json } from "../../src/value/json.ts";
import { type Path, readPath, type Segment, valueIn } from "../../src/value/path.ts";
import { isTable, renderBlock, renderInline, renderText } from "../../src/value/render.ts";

export type Variables = Record<string, Json>;
type AnswerSyntax = "dollar" | "mustache" | "dagger";
export type ExpandOptions = { syntaxes?: AnswerSyntax[]; inCode?: boolean; inUrls?: boolean };
/** A parsed piece and the position after it. */
type Read<Piece> = { piece: Piece; end: number };
type Reference = { name: string; path: Path };
/** A reference in a text. `start` is its opening, never the backslash before it. */
type Match = Reference & { syntax: AnswerSyntax; start: number; end: number };
const DECISION_LENGTH = 512;
const NAME_LENGTH = 64;

// ---------------------------------------------------------------------------------------------
// Characters

const isWordCharacter = (character: string): boolean => /^[A-Za-z0-9_]$/.test(character);

const isLineBreak = (character: string): boolean => character === "\n" || character === "\r";

/** Returns the last line of the text, which may be incomplete. */
const lastLine = (text: string): string => text.split(/\r\n|\n|\r/).at(-1) ?? "";

/** True if two line breaks follow each other directly. CR LF counts as one line break. */
const hasEmptyLine = (text: string): boolean => /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/.test(text);

// ---------------------------------------------------------------------------------------------
// The path parser. It reads a window of at most 512 characters and records whether it looked beyond the
// window's end. If it did, the window alone does not decide the match.

class Window {
  readonly text: string;
  askedBehindEnd = false;

  constructor(text: string) {
    this.text = text;
  }

  at(position: number): string {
    const character = this.text[position];
    if (character === undefined) this.askedBehindEnd = true;
    return character ?? "";
  }
}

function readIdentifier(window: Window, start: number, longest: number): Read<string> | undefined {
  if (!/^[A-Za-z_]$/.test(window.at(start))) return undefined;
  let end = start + 1;
  while (isWordCharacter(window.at(end))) {
    end += 1;
    if (end - start > longest) return undefined;
  }
  return { piece: window.text.slice(start, end), end };
}

function readInteger(window: Window, start: number): Read<number> | undefined {
  if (window.at(start) === "0") return { piece: 0, end: start + 1 };
  let end = start;
  if (window.at(end) === "-") end += 1;
  if (!/^[1-9]$/.test(window.at(end))) return undefined;
  while (/^[0-9]$/.test(window.at(end))) end += 1;
  return { piece: Number(window.text.slice(start, end)), end };
}

function readQuoted(window: Window, start: number): Read<string> | undefined {
  const quote = window.at(start);
  let key = "";
  let position = start + 1;
  while (window.at(position) !== quote) {
    let character = window.at(position);
    if (character === "" || isLineBreak(character)) return undefined;
    if (character === "\\") {
      position += 1;
      character = window.at(position);
      if (!["\\", "'", '"'].includes(character)) return undefined;
    }
    key += character;
    position += 1;
  }
  return { piece: key, end: position + 1 };
}

function readIndexOrSlice(window: Window, start: number): Read<Segment> | undefined {
  const first = readInteger(window, start);
  const afterFirst = first?.end ?? start;
  const next = window.at(afterFirst);
  if (next === "]" && first !== undefined) {
    return { piece: { index: first.piece }, end: afterFirst };
  }
  if (next !== ":") return undefined;
  const second = readInteger(window, afterFirst + 1);
  const end = second?.end ?? afterFirst + 1;
  const piece = { ...(first && { from: first.piece }), ...(second && { to: second.piece }) };
  return { piece, end };
}

function readInsideBrackets(window: Window, start: number): Read<Segment> | undefined {
  const first = window.at(start);
  if (first === "*") return { piece: { each: true }, end: start + 1 };
  if (first !== "'" && first !== '"') return readIndexOrSlice(window, start);
  const quoted = readQuoted(window, start);
  return quoted && { piece: { key: quoted.piece }, end: quoted.end };
}

function readSegment(window: Window, start: number): Read<Segment> | undefined {
  const first = window.at(start);
  if (first === ".") {
    const key = readIdentifier(window, start + 1, Infinity);
    return key && { piece: { key: key.piece }, end: key.end };
  }
  if (first !== "[") return undefined;
  const inside = readInsideBrackets(window, start + 1);
  if (inside === undefined || window.at(inside.end) !== "]") return undefined;
  return { piece: inside.piece, end: inside.end + 1 };
}

/** Reads as many complete segments as follow: the longest path. */
function readSegments(window: Window, start: number): Read<Path> {
  const segment = readSegment(window, start);
  if (segment === undefined) return { piece: [], end: start };
  const rest = readSegments(window, segment.end);
  return { piece: [segment.piece, ...rest.piece], end: rest.end };
}

function readNameAndPath(window: Window, start: number): Read<Reference> | undefined {
  const name = readIdentifier(window, start, NAME_LENGTH);
  if (name === undefined) return undefined;
  const path = readSegments(window, name.end);
  return { piece: { name: name.piece, path: path.piece }, end: path.end };
}

// ---------------------------------------------------------------------------------------------
// The four forms

function readUnbracedDollar(window: Window): Read<Reference> | undefined {
  const reference = readNameAndPath(window, 1);
  if (reference === undefined) return undefined;
  // A closing dollar directly after the reference makes it a formula.
  return window.at(reference.end) === "$" ? undefined : reference;
}

function readBracedDollar(window: Window): Read<Reference> | undefined {
  const reference = readNameAndPath(window, 2);
  if (reference === undefined || window.at(reference.end) !== "}") return undefined;
  return { piece: reference.piece, end: reference.end + 1 };
}

function skipSpacesAndTabs(window: Window, start: number): number {
  let end = start;
  while ([" ", "\t"].includes(window.at(end))) end += 1;
  return end;
}

function readMustache(window: Window): Read<Reference> | undefined {
  const reference = readNameAndPath(window, skipSpacesAndTabs(window, 2));
  if (reference === undefined) return undefined;
  const close = skipSpacesAndTabs(window, reference.end);
  if (window.at(close) !== "}" || window.at(close + 1) !== "}") return undefined;
  return { piece: reference.piece, end: close + 2 };
}

function readForm(window: Window, syntax: AnswerSyntax): Read<Reference> | undefined {
  if (syntax === "dollar" && window.text.startsWith("${")) return readBracedDollar(window);
  if (syntax === "dollar" && window.text.startsWith("$")) return readUnbracedDollar(window);
  if (syntax === "mustache" && window.text.startsWith("{{")) return readMustache(window);
  if (syntax === "dagger" && window.text.startsWith("†")) return readNameAndPath(window, 1);
  return undefined;
}

/** Returns the longest reference of this syntax that opens at `start`, whether or not its name is known. */
function matchAt(text: string, start: number, syntax: AnswerSyntax): Match | undefined {
  const window = new Window(text.slice(start, start + DECISION_LENGTH));
  const read = readForm(window, syntax);
  const undecided = window.askedBehindEnd && window.text.length === DECISION_LENGTH;
  if (read === undefined || undecided) return undefined;
  return { ...read.piece, syntax, start, end: start + read.end };
}

// ---------------------------------------------------------------------------------------------
// Values

function isKnown(reference: Reference, variables: Variables): boolean {
  return Object.hasOwn(variables, reference.name);
}

function lookUp({ name, path }: Reference, variables: Variables): Json | undefined {
  const root = Object.hasOwn(variables, name) ? variables[name] : undefined;
  return root === undefined ? undefined : valueIn(readPath(root, path));
}

// ---------------------------------------------------------------------------------------------
// Code, judged from the source text

type Fence = { mark: string; length: number };

function fenceOpenedBy(line: string): Fence | undefined {
  const run = /^[ \t>]*(`{3,}|~{3,})/.exec(line)?.[1];
  return run === undefined ? undefined : { mark: run.charAt(0), length: run.length };
}

function closesFence(line: string, fence: Fence): boolean {
  const run = /^[ \t>]*(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
  return run !== undefined && run.charAt(0) === fence.mark && run.length >= fence.length;
}

/** True if the line, which may be incomplete, ends inside inline code. */
function endsInInlineCode(line: string): boolean {
  let openLength = 0;
  for (const run of line.match(/`+/g) ?? []) {
    if (openLength === 0) openLength = run.length;
    else if (openLength === run.length) openLength = 0;
  }
  return openLength > 0;
}

function inCode(source: string, position: number): boolean {
  const lines = source.slice(0, position).split(/\r\n|\n|\r/);
  const current = lines.pop() ?? "";
  let fence: Fence | undefined;
  for (const line of lines) {
    if (fence === undefined) fence = fenceOpenedBy(line);
    else if (closesFence(line, fence)) fence = undefined;
  }
  if (fence !== undefined || fenceOpenedBy(current) !== undefined) return true;
  return endsInInlineCode(current);
}

// ---------------------------------------------------------------------------------------------
// URLs, judged from the output

const SCHEME_OR_HOST =
  /\/\/|www\.|[a-z\x80-\uffff]{11}\.|(?<![a-z0-9\x80-\uffff])(?:https?|wss?|ftp|mailto|data|javascript|tel|sms|file):/i;
const ADDRESS = /[^\0- "()<>@[\]\\\x7f]@|<[^>\f]*@/i;
const FOOTNOTE = /\[\^/;
const ENTITY = /&#|&(?:sol|colon|period|commat);/i;
/**
 * A name with a dot and at least two letters after it, then a character that may follow the host of a URL.
 */
const HOST =
  /[a-z0-9._+;:&=$,\x80-\uffff-]\.(?:[0-9-]|[a-z\x80-\uffff]+[0-9-])*[a-z\x80-\uffff]{2,}[/?#:]/i;

/** Returns where a URL in the last word could begin: after the last tag that every renderer recognizes. */
function wordStart(output: string): number {
  const start = output.search(/[^ \t\n\r]*$/);
  for (let end = output.length; end > start; end -= 1) {
    if (output[end - 1] !== ">") continue;
    const opening = output.lastIndexOf("<", end - 1);
    if (opening >= 0 && isPlainTag(output.slice(opening, end)) && mayBeTag(output, opening)) {
      return end;
    }
  }
  return start;
}

function isPlainTag(tag: string): boolean {
  const attribute = / [a-z-]+=(?:"[^"`$<>\\[\]|\n\r]*"|'[^'`$<>\\[\]|\n\r]*')/;
  return tag.length <= 512 && new RegExp(`^<[a-z]+(?:${attribute.source})* ?/?>$`, "i").test(tag);
}

function mayBeTag(output: string, opening: number): boolean {
  const before = output.slice(0, opening);
  return !isEscapedAt(output, opening) && !urlIsOpen(before);
}

function bareUrlIsOpen(output: string): boolean {
  const word = output.slice(wordStart(output)).replaceAll("\\", "");
  const openings = [SCHEME_OR_HOST, ADDRESS, FOOTNOTE, ENTITY, HOST];
  return openings.some((opening) => opening.test(word));
}

/** True if an odd number of backslashes directly precedes the position. */
function isEscapedAt(text: string, position: number): boolean {
  return (/\\*$/.exec(text.slice(0, position))?.[0].length ?? 0) % 2 === 1;
}

/**
 * True if the text after `](` opens a destination with `<` and has not closed it. Only a `>` before a `)` or
 * a blank closes it.
 */
function angleDestinationIsOpen(inside: string): boolean {
  if (hasEmptyLine(inside)) return false;
  const rest = /^[ \t\f]*(?:(?:\r\n|\n|\r)[ \t\f>]*)*<([^\n\r]*)$/.exec(inside)?.[1];
  return rest !== undefined && !/(?<!\\)(?:\\\\)*>[) \t\f]/.test(rest);
}

/** True if the text after a `](` has not reached the closing parenthesis. */
function destinationIsOpen(inside: string): boolean {
  // An empty line closes the destination if nothing has before.
  if (hasEmptyLine(inside)) return false;
  let depth = 1;
  for (let position = 0; position < inside.length; position += 1) {
    const character = inside.charAt(position);
    if (isEscapedAt(inside, position)) continue;
    if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    if (depth === 0) return false;
  }
  return true;
}

function anyDestinationIsOpen(output: string): boolean {
  return [...output.matchAll(/\]\(/g)].some(({ index }) => {
    const inside = output.slice(index + 2);
    return destinationIsOpen(inside) || angleDestinationIsOpen(inside);
  });
}

/** Returns the positions where blocks may begin: at each line, and after each label with its colon. */
function blockStarts(output: string): number[] {
  const starts = [0];
  for (const { index, 0: lineBreak } of output.matchAll(/\r\n|\n|\r/g)) {
    starts.push(index + lineBreak.length);
  }
  for (const start of starts) {
    const opening = /^[ \t\f>*+|0-9.)-]*\[/.exec(output.slice(start));
    const end = opening === null ? undefined : labelEnd(output, start + opening[0].length);
    if (end !== undefined && !starts.includes(end)) starts.push(end);
  }
  return starts;
}

/** Returns the position after `]:` if the label that begins at `start` ends with it. */
function labelEnd(output: string, start: number): number | undefined {
  for (let end = start; end < output.length; end += 1) {
    if (output[end] !== "]" || isEscapedAt(output, end)) continue;
    const isLabel = output[end + 1] === ":" && !hasEmptyLine(output.slice(start, end));
    return isLabel ? end + 2 : undefined;
  }
  return undefined;
}

function definitionIsOpen(output: string): boolean {
  return blockStarts(output)
    .filter((start) => output.slice(0, start).endsWith("]:"))
    .some((start) => /^[ \t\f\r\n]*[^\r\n]*$/.test(output.slice(start)));
}

/**
 * True from a footnote's definition to the first line after a blank one that is neither indented nor quoted.
 */
function footnoteIsOpen(output: string): boolean {
  return blockStarts(output).some((start) => {
    const isLabel = /\[\^[^[]*\]:$/.test(output.slice(0, start));
    const end = /(?:\r\n|\r(?!\n)|\n)[ \t>]*(?:\r\n|\r|\n)(?:$|[^ \t>\r\n])/;
    return isLabel && !end.test(output.slice(start));
  });
}

function isRawAfter(before: string): boolean {
  const raw = /<(?:pre|textarea|code|kbd)[^a-z\x80-\uffff]/i;
  return /<[!?]/.test(before) || raw.test(before.replaceAll("\\", ""));
}

function isNestedAfter(before: string): boolean {
  return blockStarts(before).some((start) => /^[ \t\f]*[>*+|0-9.)-]/.test(before.slice(start)));
}

function isHtmlAfter(before: string): boolean {
  const paragraph = before.split(/(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)+/).at(-1) ?? "";
  return blockStarts(before).some(
    (start) =>
      start >= before.length - paragraph.length && /^[ \t\f>*+|0-9.)-]*</.test(before.slice(start)),
  );
}

function isAtBlockStart(before: string): boolean {
  return blockStarts(before).some((start) => /^[ \t\f>*+|0-9.)-]*$/.test(before.slice(start)));
}

/** A tag whose values end where HTML ends them, if its text is one: it has quotes around values only. */
function isWholeTag(tag: string): boolean {
  const value = /"[^"<]*"|'[^'<]*'|[^\s"'<>=`]+(?=[\s>])/;
  const attribute = new RegExp(`[\\s/]+[^\\s/<>"'=]+(?:\\s*=\\s*(?:${value.source}))?`);
  const whole = new RegExp(`^<[a-z][^\\s/<>"']*(?:${attribute.source})*[\\s/]*>$`, "i");
  return tag.length <= 512 && whole.test(tag.replaceAll(/\r\n?/g, "\n"));
}

/** True if a tag that begins at `start` is open at the output's end. */
function isOpenFrom(output: string, start: number): boolean {
  let [isOpen, isUnending, hasQuotes] = [true, false, false];
  const isAlone = mayBeTag(output, start);
  for (
    let position = start + 1;
    position < output.length && (isOpen || isUnending);
    position += 1
  ) {
    const [before, character] = [output.slice(0, position), output.charAt(position)];
    if (/["'\\`]/.test(character)) hasQuotes = true;
    const isSecondHalf = character === "\n" && before.endsWith("\r");
    if (isLineBreak(character) && !isSecondHalf) {
      const isEmpty = hasEmptyLine(before.slice(-2) + character);
      const isRaw = isRawAfter(before + character);
      const endsBlock = isRaw || (isHtmlAfter(before) && (isEmpty || isNestedAfter(before)));
      if (endsBlock && isOpen && hasQuotes) isUnending = true;
      if (isEmpty && !isRaw) isOpen = false;
    }
    if (character !== ">" || (isNestedAfter(before) && isAtBlockStart(before))) continue;
    const tag = output.slice(start, position + 1);
    const isTag = isPlainTag(tag) || (!isRawAfter(before) && isWholeTag(tag));
    if (!hasQuotes || (isAlone && isTag)) isOpen = false;
  }
  return isOpen || isUnending;
}

function tagIsOpen(output: string): boolean {
  // A script or style may make a URL of anything that follows.
  if (/<(?:script|style)[^a-z\x80-\uffff]/i.test(output.replaceAll("\\", ""))) return true;
  return [...output.matchAll(/<(?=[A-Za-z/!?])/g)].some(({ index }) => isOpenFrom(output, index));
}

function urlIsOpen(output: string): boolean {
  return (
    bareUrlIsOpen(output) ||
    anyDestinationIsOpen(output) ||
    definitionIsOpen(output) ||
    footnoteIsOpen(output) ||
    tagIsOpen(output)
  );
}

/** A reference directly before an `@` would become part of an address; after a `<`, of a scheme. */
function isInUrl(output: string, text: string, end: number): boolean {
  const isScheme = output.endsWith("<") && /^[\w+.:\\-]/.test(text.slice(end));
  return isScheme || text.charAt(end) === "@" || urlIsOpen(output);
}

// ---------------------------------------------------------------------------------------------
// Printing

const HAS_URL = /[a-z][a-z0-9+.-]*:|www\.|@|\/\//i;

function stringsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  if (isScalar(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner as Json)]);
}

/** In an answer, a URL in one string must not reach into the next. */
function printInLine(value: Json): string {
  const isSpaced = !isScalar(value) && stringsIn(value).some((text) => HAS_URL.test(text));
  return renderInline(value, isSpaced ? " " : "");
}

function isAloneOnItsLine(text: string, match: Match): boolean {
  const onlySpacesBefore = /^ *$/.test(lastLine(text.slice(0, match.start)));
  return onlySpacesBefore && (match.end === text.length || isLineBreak(text.charAt(match.end)));
}

function printInAnswer(text: string, match: Match, value: Json): string {
  if (isScalar(value) || !isAloneOnItsLine(text, match)) return printInLine(value);
  // A projection that does not form a table is printed as a line of values, not a block (decision 0003).
  const isLine = match.path.some((segment) => "each" in segment) && !isTable(value);
  if (isLine) return printInLine(value);
  const gap = text[match.start - 1] === "\r" ? "\n\n" : "\n";
  const before = match.start === 0 ? "" : gap;
  const after = match.end === text.length ? "" : "\n";
  return before + renderBlock(value, text.slice(match.start, match.end)) + after;
}

// ---------------------------------------------------------------------------------------------
// Walking through a text

type Rules = {
  syntaxes: readonly AnswerSyntax[];
  variables: Variables;
  /** `end` is the position after the reference. */
  isClosed: (text: string, position: number, output: string, end: number) => boolean;
  print: (text: string, match: Match, value: Json) => string;
  mayPrint: (printed: string, output: string) => boolean;
  /** Returns the replacement for a known name with a missing path. */
  missing: (written: string) => string;
};

/**
 * Returns the reference to a known name that opens here. Syntaxes open differently, so at most one matches.
 */
function knownReferenceAt(text: string, opening: number, rules: Rules): Match | undefined {
  return rules.syntaxes
    .map((syntax) => matchAt(text, opening, syntax))
    .find((match) => match !== undefined && isKnown(match, rules.variables));
}

/**
 * Returns the reference at `position` (or after its backslash) if the text around it allows it to resolve.
 */
function resolvableAt(text: string, position: number, output: string, rules: Rules) {
  const escaped = text.charAt(position) === "\\";
  const before = text.charAt(position - 1);
  if (!escaped && before === "\\") return undefined;
  const match = knownReferenceAt(text, escaped ? position + 1 : position, rules);
  if (match === undefined) return undefined;
  if (match.syntax === "dollar" && (before === "$" || isWordCharacter(before))) return undefined;
  return rules.isClosed(text, position, output, match.end) ? undefined : { match, escaped };
}

/** Returns what one position prints, and where reading continues. */
function step(text: string, position: number, output: string, rules: Rules): Read<string> {
  const resolvable = resolvableAt(text, position, output, rules);
  if (resolvable === undefined) return { piece: text.charAt(position), end: position + 1 };
  const { match, escaped } = resolvable;
  const found = lookUp(match, rules.variables);
  const written = text.slice(match.start, match.end);
  if (escaped) return { piece: found === undefined ? `\\${written}` : written, end: match.end };
  if (found === undefined) return { piece: rules.missing(written), end: match.end };
  const printed = rules.print(text, match, found);
  return { piece: rules.mayPrint(printed, output) ? printed : written, end: match.end };
}

function walk(text: string, rules: Rules): string {
  let output = "";
  let position = 0;
  while (position < text.length) {
    const next = step(text, position, output, rules);
    output += next.piece;
    position = next.end;
  }
  return output;
}

export function expandOracle(
  text: string,
  variables: Variables,
  options: ExpandOptions = {},
): string {
  return walk(text, {
    syntaxes: options.syntaxes ?? ["dollar"],
    variables,
    isClosed: (source, position, output, end) =>
      (options.inCode !== true && inCode(source, position)) ||
      (options.inUrls !== true && isInUrl(output, source, end)),
    print: printInAnswer,
    mayPrint: (printed, output) => {
      const start = /^[\r\n]*[^\r\n]?/.exec(printed)?.[0] ?? "";
      return options.inUrls === true || !footnoteIsOpen(output + start);
    },
    missing: (written) => written,
  });
}

// ---------------------------------------------------------------------------------------------
// Tool inputs

class PathNotFound extends Error {}

/** Returns the text of an input with text in place of its references, or the error's code. */
export function embedOracle(
  text: string,
  variables: Variables,
  syntaxes: readonly AnswerSyntax[],
): string | { error: "path_not_found" } {
  try {
    return walk(text, {
      syntaxes,
      variables,
      isClosed: () => false,
      mayPrint: () => true,
      print: (_text, _match, value) => renderText(value),
      missing: () => {
        throw new PathNotFound();
      },
    });
  } catch (error) {
    if (error instanceof PathNotFound) return { error: "path_not_found" };
    throw error;
  }
}
