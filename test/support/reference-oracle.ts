// A second implementation of the reference language, slow and simple, for comparison on random texts. It is
// written from the specification (design/references.md) alone, not from the engine. It avoids all
// optimization: every position examines its surroundings from the beginning.

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Variables = Record<string, Json>;
type AnswerSyntax = "dollar" | "mustache" | "dagger";
type InputSyntax = AnswerSyntax | "target";
export type ExpandOptions = { syntaxes?: AnswerSyntax[]; inCode?: boolean; inUrls?: boolean };
export type ResolveOptions = { syntaxes?: InputSyntax[] };
type ResolveResult = { value: Json } | { error: "path_not_found" | "bad_alternatives" };

type Segment =
  | { kind: "key"; key: string }
  | { kind: "index"; index: number }
  | { kind: "each" }
  | { kind: "slice"; from: number | undefined; to: number | undefined };

/** A parsed piece and the position after it. */
type Read<Piece> = { piece: Piece; end: number };
type Reference = { name: string; path: Segment[] };
/** A reference in a text. `start` is its opening, never the backslash before it. */
type Match = Reference & { syntax: InputSyntax; start: number; end: number };
/** The value that a path leads to; undefined if there is none (JSON has no undefined). */
type Found = { value: Json } | undefined;

const DECISION_LENGTH = 512;
const NAME_LENGTH = 64;
const TABLE_ROWS = 50;
const TABLE_COLUMNS = 12;

// ---------------------------------------------------------------------------------------------
// Characters

const isWordCharacter = (character: string): boolean => /^[A-Za-z0-9_]$/.test(character);

const isLineBreak = (character: string): boolean => character === "\n" || character === "\r";

/** Returns the last line of the text, which may be incomplete. */
const lastLine = (text: string): string => text.split(/\r\n|\n|\r/).at(-1) ?? "";

/** True if two line breaks follow each other directly. CR LF counts as one line break. */
const hasEmptyLine = (text: string): boolean => /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/.test(text);

// ---------------------------------------------------------------------------------------------
// The grammar. A match is decided within a window of 512 characters: what follows in it may not be the beginning of
// another segment that ends behind the window.

const KEY = String.raw`[A-Za-z_]\w*`;
const INTEGER = String.raw`(?:0|-?[1-9]\d*)`;
const inQuotes = (quote: string) => String.raw`${quote}(?:[^${quote}\\\r\n]|\\[\\'"])*`;
const QUOTED = `(?:${inQuotes('"')}"|${inQuotes("'")}')`;
const INSIDE = String.raw`\*|${QUOTED}|${INTEGER}|${INTEGER}?:${INTEGER}?`;
const SEGMENT = String.raw`\.${KEY}|\[(?:${INSIDE})\]`;
const NAME = String.raw`[A-Za-z_]\w{0,${NAME_LENGTH - 1}}(?!\w)`;
const REFERENCE = new RegExp(`(${NAME})((?:${SEGMENT})*)`, "y");
/** The beginning of a segment, or nothing, up to the end. */
const CUT_OFF = new RegExp(
  String.raw`^(?:\.|\[(?:${INSIDE}|-?|${INTEGER}?:-?|${inQuotes('"')}\\?|${inQuotes("'")}\\?)?)?$`,
);

function segmentOf(written: string): Segment {
  const inside = written.slice(1, -1);
  if (written.startsWith(".")) return { kind: "key", key: written.slice(1) };
  if (inside === "*") return { kind: "each" };
  if (/^['"]/.test(inside)) {
    return { kind: "key", key: inside.slice(1, -1).replaceAll(/\\(.)/g, "$1") };
  }
  const [from, to] = inside.split(":").map((one) => (one === "" ? undefined : Number(one)));
  return inside.includes(":") ? { kind: "slice", from, to } : { kind: "index", index: from ?? 0 };
}

/** What opens a reference in each syntax, and what has to follow it. */
const FORMS: Record<InputSyntax, [opening: RegExp, closing: RegExp][]> = {
  dollar: [
    [/^\$(?!\{)/, /^(?!\$)/],
    [/^\$\{/, /^\}/],
  ],
  mustache: [[/^\{\{[ \t]*/, /^[ \t]*\}\}/]],
  dagger: [[/^†/, /^/]],
  target: [[/^variable:/, /^/]],
};

/** Returns the longest reference of this syntax that opens at `start`, whether or not its name is known. */
function matchAt(text: string, start: number, syntax: InputSyntax): Match | undefined {
  const window = text.slice(start, start + DECISION_LENGTH);
  for (const [opening, closing] of FORMS[syntax]) {
    const opened = opening.exec(window);
    if (opened === null) continue;
    REFERENCE.lastIndex = opened[0].length;
    const [written, name = "", path = ""] = REFERENCE.exec(window) ?? [];
    if (written === undefined) return undefined;
    const rest = window.slice(opened[0].length + written.length);
    const closed = closing.exec(rest);
    if (closed === null) return undefined;
    const isUndecided = window.length === DECISION_LENGTH && CUT_OFF.test(rest);
    if (closed[0] === "" && isUndecided) return undefined;
    const end = start + window.length - rest.length + closed[0].length;
    const segments = path.match(new RegExp(SEGMENT, "g")) ?? [];
    return { name, path: segments.map(segmentOf), syntax, start, end };
  }
  return undefined;
}

// ---------------------------------------------------------------------------------------------
// Values

function isCollection(value: Json): value is Json[] | { [key: string]: Json } {
  return typeof value === "object" && value !== null;
}

function followKey(value: Json, key: string): Found {
  if (!isCollection(value) || Array.isArray(value) || !Object.hasOwn(value, key)) return undefined;
  return { value: value[key] as Json };
}

function followIndex(value: Json, index: number): Found {
  if (!Array.isArray(value)) return undefined;
  const position = index < 0 ? value.length + index : index;
  if (position < 0 || position >= value.length) return undefined;
  return { value: value[position] as Json };
}

function sliceList<Element>(list: Element[], from = 0, to = list.length): Element[] {
  const start = from < 0 ? list.length + from : from;
  const end = to < 0 ? list.length + to : to;
  return list.filter((_, position) => position >= start && position < end);
}

function followSlice(value: Json, from: number | undefined, to: number | undefined): Found {
  if (Array.isArray(value)) return { value: sliceList(value, from, to) };
  if (typeof value !== "string") return undefined;
  return { value: sliceList(Array.from(value), from, to).join("") };
}

function followEach(value: Json, rest: Segment[]): Found {
  if (!isCollection(value)) return undefined;
  const elements = Array.isArray(value) ? value : Object.values(value);
  const found = elements.map((element) => follow(element, rest)).filter((one) => one !== undefined);
  if (elements.length > 0 && found.length === 0) return undefined;
  return { value: found.map((one) => one.value) };
}

function followSegment(value: Json, segment: Exclude<Segment, { kind: "each" }>): Found {
  if (segment.kind === "key") return followKey(value, segment.key);
  if (segment.kind === "index") return followIndex(value, segment.index);
  return followSlice(value, segment.from, segment.to);
}

function follow(value: Json, path: Segment[]): Found {
  const [segment, ...rest] = path;
  if (segment === undefined) return { value };
  if (segment.kind === "each") return followEach(value, rest);
  const next = followSegment(value, segment);
  return next && follow(next.value, rest);
}

function isKnown(reference: Reference, variables: Variables): boolean {
  return Object.hasOwn(variables, reference.name);
}

function lookUp(reference: Reference, variables: Variables): Found {
  if (!isKnown(reference, variables)) return undefined;
  return follow(variables[reference.name] as Json, reference.path);
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

/** HTML's names for positions in a tag. "unending" is inside quotes that may never close. */
type Place =
  | "name"
  | "before attribute"
  | "attribute"
  | "before value"
  | "value"
  | '"'
  | "'"
  | "comment"
  | "unending";

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

/** Returns the place after one more character; undefined after the end of the tag. */
function nextPlace(place: Place, character: string): Place | undefined {
  const isBlank = /[ \t\f\r\n]/.test(character);
  if (place === "unending") return place;
  if (place === '"' || place === "'") return character === place ? "before attribute" : place;
  if (character === ">") return undefined;
  if (place === "comment") return place;
  if (place === "value") return isBlank ? "before attribute" : place;
  if (place === "before value") {
    if (isBlank) return place;
    return character === '"' || character === "'" ? character : "value";
  }
  if (character === "/") return "before attribute";
  if (place === "name") return isBlank ? "before attribute" : place;
  if (isBlank) return place;
  return character === "=" && place === "attribute" ? "before value" : "attribute";
}

/** Returns the places that the output's end may have in a tag that opens at `start`. */
function placesInTag(output: string, start: number): Set<Place> {
  let places = new Set<Place>([/[!?]/.test(output.charAt(start + 1)) ? "comment" : "name"]);
  for (let position = start + 2; position < output.length; position += 1) {
    const [before, character] = [output.slice(0, position), output.charAt(position)];
    if (output.slice(0, position + 1).endsWith("\r\n")) continue;
    if (character === ">" && isNestedAfter(before) && isAtBlockStart(before)) continue;
    const next = new Set<Place>();
    for (const place of isLineBreak(character) ? withUnending(places, before, character) : places) {
      const to = nextPlace(place, character);
      if (to !== undefined) next.add(to);
      else if (isWrittenOtherwise(output.slice(start, position + 1), before)) next.add("unending");
    }
    places = isLineBreak(character) ? behindLine(next, before + character) : next;
  }
  return places;
}

/** In raw text, a renderer may escape the quotes of text that may not be a tag. */
function isWrittenOtherwise(tag: string, before: string): boolean {
  if (!isRawAfter(before) || !/["'\\`]/.test(tag)) return false;
  return !isPlainTag(tag) || !mayBeTag(before, before.length + 1 - tag.length);
}

/** A line break may end the block; then the quote that would close a value is escaped. */
function withUnending(places: Set<Place>, before: string, character: string): Set<Place> {
  const isEmpty = hasEmptyLine(before.slice(-2) + character);
  const endsBlock =
    isRawAfter(before + character) || (isHtmlAfter(before) && (isEmpty || isNestedAfter(before)));
  const isQuoted = places.has('"') || places.has("'");
  return endsBlock && isQuoted ? new Set([...places, "unending" as const]) : places;
}

function behindLine(places: Set<Place>, before: string): Set<Place> {
  if (!hasEmptyLine(before.slice(-3)) || !/[\r\n]$/.test(before) || isRawAfter(before))
    return places;
  return new Set([...places].filter((place) => place === "unending"));
}

function tagIsOpen(output: string): boolean {
  // A script or style may make a URL of anything that follows.
  if (/<(?:script|style)[^a-z\x80-\uffff]/i.test(output.replaceAll("\\", ""))) return true;
  return [...output.matchAll(/<(?=[A-Za-z/!?])/g)].some(
    ({ index }) => placesInTag(output, index).size > 0,
  );
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

function printInline(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const HAS_URL = /[a-z][a-z0-9+.-]*:|www\.|@|\/\//i;

function stringsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  if (!isCollection(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]);
}

function printSpaced(value: Json): string {
  if (!isCollection(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(printSpaced).join(", ")}]`;
  const entries = Object.entries(value).map(
    ([key, inner]) => `${JSON.stringify(key)}: ${printSpaced(inner)}`,
  );
  return `{${entries.join(", ")}}`;
}

/** In an answer, a URL in one string must not reach into the next. */
function printInLine(value: Json): string {
  const isSpaced = isCollection(value) && stringsIn(value).some((text) => HAS_URL.test(text));
  return isSpaced ? printSpaced(value) : printInline(value);
}

type Row = { [key: string]: Json };

function isFlatRow(value: Json): value is Row {
  if (!isCollection(value) || Array.isArray(value)) return false;
  return Object.values(value).every((cell) => !isCollection(cell));
}

function printCell(value: Json): string {
  if (value === null) return "";
  return printInline(value)
    .replaceAll("|", "\\|")
    .replaceAll(/\r\n|\n|\r/g, " ");
}

const printRow = (cells: string[]): string => `| ${cells.join(" | ")} |`;

function more(count: number, noun: string): string[] {
  if (count <= 0) return [];
  return [`${count} more ${noun}${count === 1 ? "" : "s"}`];
}

function printTable(rows: Row[], columns: string[], written: string): string {
  const shown = columns.slice(0, TABLE_COLUMNS);
  const lines = [printRow(shown.map(printCell)), printRow(shown.map(() => "---"))];
  for (const row of rows.slice(0, TABLE_ROWS)) {
    const cells = shown.map((column) => followKey(row, column)?.value ?? null);
    lines.push(printRow(cells.map(printCell)));
  }
  const leftOut = [
    ...more(rows.length - TABLE_ROWS, "row"),
    ...more(columns.length - TABLE_COLUMNS, "column"),
  ];
  if (leftOut.length > 0) lines.push("", `… ${leftOut.join(" and ")} in ${written}`);
  return lines.join("\n");
}

function printFencedJson(value: Json): string {
  const json = JSON.stringify(value, null, 2);
  let fence = "```";
  while (json.includes(fence)) fence += "`";
  return `${fence}json\n${json}\n${fence}`;
}

function printBlock(value: Json, written: string): string {
  if (!Array.isArray(value) || !value.every(isFlatRow)) return printFencedJson(value);
  const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
  return columns.length === 0 ? printFencedJson(value) : printTable(value, columns, written);
}

/** A projection that does not form a table is printed as a line of values, not a block (decision 0003). */
function isLineOfValues(match: Match, value: Json): boolean {
  return match.path.some((segment) => segment.kind === "each") && !isTable(value);
}

function isTable(value: Json): boolean {
  if (!Array.isArray(value) || !value.every(isFlatRow)) return false;
  return value.some((row) => Object.keys(row).length > 0);
}

function isAloneOnItsLine(text: string, match: Match): boolean {
  const onlySpacesBefore = /^ *$/.test(lastLine(text.slice(0, match.start)));
  return onlySpacesBefore && (match.end === text.length || isLineBreak(text.charAt(match.end)));
}

function printInAnswer(text: string, match: Match, value: Json): string {
  const isBlock =
    isCollection(value) && isAloneOnItsLine(text, match) && !isLineOfValues(match, value);
  if (!isBlock) return printInLine(value);
  const gap = text[match.start - 1] === "\r" ? "\n\n" : "\n";
  const before = match.start === 0 ? "" : gap;
  const after = match.end === text.length ? "" : "\n";
  return before + printBlock(value, text.slice(match.start, match.end)) + after;
}

// ---------------------------------------------------------------------------------------------
// Walking through a text

type Rules = {
  syntaxes: InputSyntax[];
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
    .filter((syntax) => syntax !== "target")
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
  const printed = rules.print(text, match, found.value);
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

type Failure = "path_not_found" | "bad_alternatives";

class OracleFailure extends Error {
  readonly code: Failure;

  constructor(code: Failure) {
    super(code);
    this.code = code;
  }
}

function fail(code: Failure): never {
  throw new OracleFailure(code);
}

function resolveEmbedded(text: string, variables: Variables, syntaxes: InputSyntax[]): string {
  return walk(text, {
    syntaxes,
    variables,
    isClosed: () => false,
    mayPrint: () => true,
    print: (_text, _match, value) => printInline(value),
    missing: () => fail("path_not_found"),
  });
}

type Alternatives = { operands: Match[]; operators: string[] };

/** Reads dagger references separated by operators, from `start` to the end of the text. */
function readAlternatives(text: string, start: number): Alternatives | undefined {
  const operand = matchAt(text, start, "dagger");
  if (operand === undefined) return undefined;
  if (operand.end === text.length) return { operands: [operand], operators: [] };
  const between = /^[ \t]*(\|\||&&)[ \t]*/.exec(text.slice(operand.end));
  if (between === null) return undefined;
  const rest = readAlternatives(text, operand.end + between[0].length);
  if (rest === undefined) return undefined;
  const operators = [between[1] ?? "", ...rest.operators];
  return { operands: [operand, ...rest.operands], operators };
}

function resolveAlternatives(alternatives: Alternatives, variables: Variables): Json {
  const operators = new Set(alternatives.operators);
  if (operators.size > 1) return fail("bad_alternatives");
  const found = alternatives.operands.map((operand) => lookUp(operand, variables));
  const existing = found.filter((one) => one !== undefined);
  if (operators.has("&&") && existing.length < found.length) return fail("path_not_found");
  const chosen = operators.has("&&") ? existing.at(-1) : existing[0];
  return chosen === undefined ? fail("path_not_found") : chosen.value;
}

function wholeReference(text: string, syntaxes: InputSyntax[]): Match | undefined {
  return syntaxes
    .map((syntax) => matchAt(text, 0, syntax))
    .find((match) => match !== undefined && match.end === text.length);
}

function resolveString(text: string, variables: Variables, syntaxes: InputSyntax[]): Json {
  const alternatives = syntaxes.includes("dagger") ? readAlternatives(text, 0) : undefined;
  if (alternatives !== undefined && alternatives.operators.length > 0) {
    return resolveAlternatives(alternatives, variables);
  }
  const whole = wholeReference(text, syntaxes);
  if (whole === undefined || !isKnown(whole, variables)) {
    return resolveEmbedded(text, variables, syntaxes);
  }
  const found = lookUp(whole, variables);
  return found === undefined ? fail("path_not_found") : found.value;
}

function resolveDeep(input: Json, variables: Variables, syntaxes: InputSyntax[]): Json {
  if (typeof input === "string") return resolveString(input, variables, syntaxes);
  if (!isCollection(input)) return input;
  if (Array.isArray(input)) return input.map((one) => resolveDeep(one, variables, syntaxes));
  // Object.fromEntries creates own properties even for keys such as __proto__.
  return Object.fromEntries(
    Object.entries(input).map(([key, one]) => [key, resolveDeep(one, variables, syntaxes)]),
  );
}

export function resolveOracle(
  input: Json,
  variables: Variables,
  options: ResolveOptions = {},
): ResolveResult {
  try {
    return { value: resolveDeep(input, variables, options.syntaxes ?? ["dollar"]) };
  } catch (error) {
    if (error instanceof OracleFailure) return { error: error.code };
    throw error;
  }
}
