import { isWordCode } from "../value/characters.ts";

const SCHEMES = [
  "http",
  "https",
  "ws",
  "wss",
  "ftp",
  "mailto",
  "data",
  "javascript",
  "tel",
  "sms",
  "file",
];

const LF = 10;
const CR = 13;
const SPACE = 32;
const EXCLAMATION = 33;
const QUOTE = 34;
const OPEN_PAREN = 40;
const CLOSE_PAREN = 41;
const DOT = 46;
const SLASH = 47;
const COLON = 58;
const LESS = 60;
const GREATER = 62;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;

/** Node of the schemes' trie in which a word is that is no scheme's start. */
const DEAD = -1;
const { trie, isScheme, wwwNode } = buildTrie();

/**
 * Tells whether what comes next would stand inside something that a browser may fetch: a URL, a link's
 * destination, a link definition, a tag. It is fed everything that is put out, values included, because
 * a value may open a URL. An expanded URL is how a model is made to leak data: when in doubt, open.
 */
export class UrlTracker {
  #bareUrl = false;
  #tag = false;
  /** Open parentheses of a destination; 0 outside. */
  #destination = 0;
  /** A destination in angle brackets; they are awaited right behind `](`. */
  #angle = false;
  #awaitsAngle = false;
  #definition: "indent" | "label" | "labelled" | "open" | "no" = "indent";
  #indent = 0;
  #labelChars = 0;
  #node = 0;
  #previous = LF;
  /** The previous character is a slash at a word's start. */
  #afterSlash = false;
  /** The previous character is a backslash that is not escaped itself. */
  #afterBackslash = false;
  #lineBreaks = 0;

  get isOpen(): boolean {
    return (
      this.#bareUrl ||
      this.#tag ||
      this.#destination > 0 ||
      this.#angle ||
      this.#definition === "open"
    );
  }

  feed(text: string): void {
    for (let index = 0; index < text.length; index++) this.#feedCode(text.charCodeAt(index));
  }

  #feedCode(code: number): void {
    if (code === LF || code === CR) this.#lineBreak(code);
    else {
      this.#lineBreaks = 0;
      this.#feedBareUrl(code);
      this.#feedTag(code);
      this.#feedDestination(code);
      if (this.#definition !== "no" && this.#definition !== "open") this.#feedDefinition(code);
    }
    this.#afterBackslash = code === BACKSLASH && !this.#afterBackslash;
    this.#previous = code;
  }

  #lineBreak(code: number): void {
    const isSecondHalf = code === LF && this.#previous === CR;
    if (!isSecondHalf) this.#lineBreaks++;
    this.#bareUrl = false;
    this.#afterSlash = false;
    this.#node = 0;
    this.#definition = "indent";
    this.#indent = 0;
    this.#angle = false;
    if (this.#lineBreaks < 2) return;
    this.#tag = false;
    this.#destination = 0;
  }

  #feedBareUrl(code: number): void {
    if (isWordCode(code)) {
      this.#node = this.#node === DEAD ? DEAD : (trie[this.#node * 26 + letterOf(code)] ?? DEAD);
      this.#afterSlash = false;
      return;
    }
    const isOpened =
      (code === COLON && isScheme.has(this.#node)) ||
      (code === DOT && this.#node === wwwNode) ||
      (code === SLASH && this.#afterSlash);
    if (isOpened) this.#bareUrl = true;
    else if (isUrlEnd(code)) this.#bareUrl = false;
    this.#afterSlash = code === SLASH && !isWordCode(this.#previous);
    this.#node = 0;
  }

  #feedTag(code: number): void {
    if (code === GREATER) this.#tag = false;
    else if (this.#previous === LESS && opensTag(code)) this.#tag = true;
  }

  #feedDestination(code: number): void {
    const isOpened = code === OPEN_PAREN && this.#previous === CLOSE_BRACKET;
    if (this.#destination > 0 && !this.#afterBackslash) {
      if (code === OPEN_PAREN) this.#destination++;
      else if (code === CLOSE_PAREN) this.#destination--;
    } else if (isOpened) {
      this.#destination++;
    }
    this.#feedAngle(code, isOpened);
  }

  /** A destination in angle brackets may hold parentheses; the law does not count it, a browser does. */
  #feedAngle(code: number, isOpened: boolean): void {
    if (code === GREATER && !this.#afterBackslash) this.#angle = false;
    else if (this.#awaitsAngle && code === LESS) this.#angle = true;
    this.#awaitsAngle = isOpened || (this.#awaitsAngle && isBlank(code));
  }

  #feedDefinition(code: number): void {
    if (this.#definition === "indent") {
      if (code === SPACE && this.#indent < 3) this.#indent++;
      else this.#definition = code === OPEN_BRACKET ? "label" : "no";
      this.#labelChars = 0;
    } else if (this.#definition === "label") {
      if (this.#afterBackslash) this.#labelChars++;
      else if (code === OPEN_BRACKET) this.#definition = "no";
      else if (code !== CLOSE_BRACKET) this.#labelChars++;
      else this.#definition = this.#labelChars > 0 ? "labelled" : "no";
    } else {
      this.#definition = code === COLON ? "open" : "no";
    }
  }
}

/** White space of ASCII as the URL standard has it: space, tab, line breaks, form feed. */
function isBlank(code: number): boolean {
  return code === SPACE || code === 9 || code === LF || code === 12 || code === CR;
}

function isUrlEnd(code: number): boolean {
  return isBlank(code) || code === LESS || code === GREATER || code === QUOTE;
}

function opensTag(code: number): boolean {
  return letterOf(code) !== NO_LETTER || code === SLASH || code === EXCLAMATION;
}

const NO_LETTER = 26 * 1_000;

/** 0 to 25 for an ASCII letter in either case. */
function letterOf(code: number): number {
  const lower = code | 32;
  return lower >= 97 && lower <= 122 ? lower - 97 : NO_LETTER;
}

function buildTrie() {
  const nodes: Int8Array = new Int8Array(26 * 64).fill(DEAD);
  let size = 1;
  const insert = (word: string) => {
    let node = 0;
    for (const letter of word) {
      const slot = node * 26 + letterOf(letter.charCodeAt(0));
      if (nodes[slot] === DEAD) nodes[slot] = size++;
      node = nodes[slot] ?? DEAD;
    }
    return node;
  };
  return { trie: nodes, isScheme: new Set(SCHEMES.map(insert)), wwwNode: insert("www") };
}
