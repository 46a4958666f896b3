import type { Reference, Syntax } from "../../../src/references.ts";
import { referenceTexts } from "../../../src/internal.ts";
import { notAllowed, queryProblem } from "./query-problem.ts";

/**
 * `name`: an identifier or keyword, quoted or not; `text`: a string; `reference`: `$name.path`; `value`: a
 * number or a blob; `sign`: any other character.
 */
type TokenKind = "name" | "text" | "reference" | "value" | "sign";

/** A token of a SQL statement. Comments and white space are none. */
export interface Token {
  readonly kind: TokenKind;
  /** Offsets in the statement, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** The identifier or the string without its quotes; the text of any other token. */
  readonly value: string;
  /** A name without quotes in capitals, which may be a keyword; empty for other tokens. */
  readonly word: string;
  readonly reference?: Reference;
}

export function isSign(token: Token | undefined, value: string): boolean {
  return token?.kind === "sign" && token.value === value;
}

/** Quotes a name. In these quotes SQLite never reads a string. */
export function identifier(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

const MAX_INTEGER = 2n ** 63n - 1n;

/** True for a whole number that SQLite would round. It is a text. */
export function isLongNumber(value: string): boolean {
  return /^\d{19,}$/.test(value) && BigInt(value) > MAX_INTEGER;
}

/** Everything that SQLite skips between tokens. */
const SKIPPED = /(?:[ \t\n\f\r]|--[^\n]*|\/\*[^]*?\*\/)+/y;
const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const NUMBER = /0[xX][\da-fA-F]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;
/** Strings and identifiers in quotes. A doubled quote is a literal quote. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/y;

/** Splits a statement as `tokensOf` does, without the semicolons at its end. Throws for more than one statement. */
export function statementTokensOf(sql: string, syntaxes: readonly Syntax[]): readonly Token[] {
  const tokens = tokensOf(sql, syntaxes);
  const isEnd = ({ kind, value }: Token) => kind === "sign" && value === ";";
  const own = tokens.slice(0, tokens.findLastIndex((token) => !isEnd(token)) + 1);
  const [first] = own;
  if (first === undefined) throw queryProblem("There is no statement. Write one SELECT.", { sql });
  const second = own.find(isEnd);
  if (second === undefined) return own;
  throw notAllowed("There is more than one statement.", { sql, at: second.end });
}

/**
 * Splits a statement into tokens, as SQLite does. References are in the given syntaxes. Throws `bad_query`
 * for quotes and comments without an end, bound parameters, and characters that SQLite stops at. Cost: linear.
 */
function tokensOf(sql: string, syntaxes: readonly Syntax[]): readonly Token[] {
  const tokens: Token[] = [];
  const end = sql.indexOf("\0");
  if (end >= 0) throw queryProblem("A statement has no NUL character.", { sql, at: end });
  for (let at = after(SKIPPED, sql, 0); at < sql.length;) {
    const token = referenceAt(sql, at, syntaxes) ?? plainTokenAt(sql, at);
    tokens.push(token);
    at = after(SKIPPED, sql, token.end);
  }
  return tokens;
}

function referenceAt(sql: string, start: number, syntaxes: readonly Syntax[]): Token | undefined {
  for (const syntax of syntaxes) {
    if (!sql.startsWith(syntax.opening, start)) continue;
    const match = syntax.match(referenceTexts.wholeView(sql, start));
    if (match.kind !== "whole") continue;
    const { end, reference } = match;
    return { kind: "reference", start, end, value: sql.slice(start, end), word: "", reference };
  }
  return undefined;
}

function plainTokenAt(sql: string, start: number): Token {
  const quoted = after(QUOTED, sql, start);
  if (quoted > start) return quotedToken(sql, start, quoted);
  const word = after(WORD, sql, start);
  if (word > start) {
    const value = sql.slice(start, word);
    const isBlob = /^x$/i.test(value) && sql[word] === "'";
    const end = isBlob ? after(QUOTED, sql, word) : word;
    if (isBlob && end > word)
      return { kind: "value", start, end, value: sql.slice(start, end), word: "" };
    return { kind: "name", start, end: word, value, word: value.toUpperCase() };
  }
  const number = after(NUMBER, sql, start);
  if (number > start) {
    return { kind: "value", start, end: number, value: sql.slice(start, number), word: "" };
  }
  requirePlain(sql, start);
  return { kind: "sign", start, end: start + 1, value: sql.charAt(start), word: "" };
}

function quotedToken(sql: string, start: number, end: number): Token {
  const mark = sql.charAt(start);
  const inside = sql.slice(start + 1, end - 1);
  const value = mark === "[" ? inside : inside.replaceAll(mark + mark, mark);
  return { kind: mark === "'" ? "text" : "name", start, end, value, word: "" };
}

/** Throws for a character with which something begins that has no end, or that is not allowed. */
function requirePlain(sql: string, at: number): void {
  const character = sql.charAt(at);
  if ("'\"`[".includes(character)) {
    throw queryProblem(`${character} opens a text that is not closed.`, { sql, at });
  }
  if (sql.startsWith("/*", at)) throw queryProblem("This comment has no end.", { sql, at });
  if (!"?:@#${".includes(character)) return;
  const message = "Write a value here, or a reference to a variable, such as $order.id.";
  throw queryProblem(message, { sql, at });
}

/** Returns where the match that begins at `at` ends; `at` if there is none. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
