import { isDigit } from "../value/characters.ts";
import { FootnoteTracker } from "./footnote-tracker.ts";
import { TagTracker } from "./tag-tracker.ts";
import {
  AMPERSAND,
  AT,
  BACKSLASH,
  CARET,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  CR,
  DASH,
  DOT,
  GREATER,
  HASH,
  isBlank,
  LESS,
  letterOf,
  LF,
  OPEN_BRACKET,
  OPEN_PAREN,
  SEMICOLON,
  SLASH,
  SPACE,
  TAB,
  wordsOf,
} from "./url-characters.ts";

const SCHEMES = wordsOf("http https ws wss ftp mailto data javascript tel sms file");
/** Entities of the ASCII characters that make a URL. */
const ENTITIES = wordsOf("sol colon period commat");
const [WWW] = wordsOf("www");
const WWW_RANGE = 28 ** 3;
/** The least number of a word of eleven letters. */
const LONG_WORD = 28 ** 10;
/** With these, and white space, a quote, a list item or a table row begins. */
const BLOCK_MARKS = ">-*+|.)0123456789";
/** Beside letters, what may be directly before the dot of a name. */
const NAME_MARKS = "._+-;:&=$,0123456789";
/** The same before the `@` of an address: all of RFC 5322's `atext`, as linkify has it. */
const ADDRESS_MARKS = `${NAME_MARKS}!#%'*/?^\`{|}~`;
/** What a port, a path, a query or a fragment begins with. */
const AFTER_HOST = "/?#:";

/**
 * Tells whether the next character would be part of a URL that a Markdown or HTML renderer may make of
 * the text: a bare URL, a destination, a link definition, or a tag. In a footnote, which a renderer may move
 * into one, it counts as part of it. Feed it everything that is put out, values included, because a value may
 * open a URL. It reads forward only, in constant memory, and its trackers are independent of each other.
 * When in doubt, the URL is open: an expanded URL is how a
 * model is made to leak data.
 */
export class UrlTracker {
  /** Nothing but the word changes as long as letters follow. */
  #isPlain = false;
  #previous = LF;
  /** The previous character is a backslash that is not escaped itself. */
  #isEscaped = false;
  #lineBreaks = 0;
  /** Only marks of blocks (`>`, `-`, `1.`) are on this line so far. */
  #isAtStart = true;
  /** Nothing but white space is on this line so far. */
  #isBlankLine = true;

  #isBare = false;
  /** The letters since the last mark, as a number. A backslash is no mark. */
  #word = 0;
  /** The mark before them: any other character. */
  #mark = LF;
  /** After a dot in a name (`evil.com`), with letters, digits and dashes since. */
  #isDotted = false;
  /** After a `<`, with no white space in between. */
  #isInAngles = false;

  /** Open parentheses of a destination; 0 outside. */
  #depth = 0;
  #awaitsAngle = false;
  /** A destination in angle brackets. */
  #angle: "no" | "open" | "closing" = "no";

  #label: "no" | "open" | "closed" = "no";
  /** The label may be a footnote's. */
  #hasCaret = false;
  #definition: "no" | "blank" | "open" = "no";

  readonly #tag = new TagTracker();
  readonly #footnote = new FootnoteTracker();

  get isOpen(): boolean {
    return (
      this.#isBare ||
      this.#tag.isOpen ||
      this.#footnote.isOpen ||
      this.#depth > 0 ||
      this.#angle !== "no" ||
      this.#definition !== "no"
    );
  }

  /** True if the text, put out next, would be part of a URL, or of what a renderer may move into one. */
  takesIn(text: string): boolean {
    return this.isOpen || this.#footnote.takesIn(text);
  }

  feed(text: string): void {
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      const letter = letterOf(code);
      if (letter === 0 || !this.#isPlain) this.#feedCode(code, letter);
      else {
        this.#word = this.#word * 28 + letter;
        this.#previous = code;
      }
    }
  }

  #feedCode(code: number, letter: number): void {
    if (code === LF || code === CR) this.#feedLineBreak(code);
    else {
      this.#lineBreaks = 0;
      this.#footnote.feed(code);
      if (!isBlank(code)) this.#isBlankLine = false;
      if (this.#tag.isOpen || this.#previous === LESS) this.#feedTag(code);
      this.#feedBare(code, letter);
      this.#feedDestination(code);
      this.#feedDefinition(code);
    }
    this.#isEscaped = code === BACKSLASH && !this.#isEscaped;
    this.#previous = code;
    this.#isPlain =
      !this.#tag.isOpen &&
      code !== LESS &&
      code !== BACKSLASH &&
      !this.#isAtStart &&
      !this.#awaitsAngle &&
      this.#angle === "no" &&
      this.#label !== "closed" &&
      this.#definition !== "blank";
  }

  #feedLineBreak(code: number): void {
    const isSecondHalf = code === LF && this.#previous === CR;
    if (isSecondHalf) return;
    this.#lineBreaks++;
    const isEmptyLine = this.#lineBreaks > 1;
    this.#endWord(LF);
    this.#isBare = false;
    this.#angle = "no";
    if (this.#label === "closed") this.#label = "no";
    if (this.#definition === "open") this.#definition = "no";
    this.#isAtStart = true;
    this.#tag.endLine(isEmptyLine, this.#isBlankLine);
    this.#isBlankLine = true;
    this.#footnote.endLine();
    if (!isEmptyLine) return;
    this.#depth = 0;
    this.#awaitsAngle = false;
    this.#label = "no";
  }

  #feedBare(code: number, letter: number): void {
    if (letter > 0) this.#word = this.#word * 28 + letter;
    // Some renderers look for URLs in what is left without backslashes.
    else if (code !== BACKSLASH) {
      // A form feed ends a URL for a browser, but not for every renderer.
      if (code === SPACE || code === TAB) this.#isBare = false;
      else if (this.#opensBare(code)) this.#isBare = true;
      this.#endWord(code);
    }
  }

  #opensBare(code: number): boolean {
    const [word, mark] = [this.#word, this.#mark];
    if (this.#isDotted && word > 27 && AFTER_HOST.includes(String.fromCharCode(code))) return true;
    if (code === COLON) return SCHEMES.has(word) && !isDigit(mark);
    // The number of a long word is not exact: it may end with `www`.
    if (code === DOT) return word >= LONG_WORD || word % WWW_RANGE === WWW;
    if (code === AT) return this.#isInAngles || this.#isAfter(ADDRESS_MARKS);
    if (code === SEMICOLON) return mark === AMPERSAND && ENTITIES.has(word);
    if (word > 0) return false;
    // A footnote's name is part of its link. Numbers stand for any character.
    return (
      (code === SLASH && mark === SLASH) ||
      (code === CARET && mark === OPEN_BRACKET) ||
      (code === HASH && mark === AMPERSAND)
    );
  }

  /** Letters, or one of the marks, are directly before. */
  #isAfter(marks: string): boolean {
    return this.#word > 0 || marks.includes(String.fromCharCode(this.#mark));
  }

  #endWord(code: number): void {
    if (this.#mark === LESS) this.#tag.endName(this.#word);
    if (code === DOT) this.#isDotted = this.#isAfter(NAME_MARKS);
    else if (code !== DASH && !isDigit(code)) this.#isDotted = false;
    if (code === LESS) {
      this.#isInAngles = true;
      this.#tag.begin(!this.isOpen && !this.#isEscaped);
    } else if (code === GREATER || code === LF || isBlank(code)) this.#isInAngles = false;
    this.#word = 0;
    this.#mark = code;
  }

  #feedDestination(code: number): void {
    const isOpened = code === OPEN_PAREN && this.#previous === CLOSE_BRACKET;
    if (this.#depth > 0 && !this.#isEscaped) {
      if (code === OPEN_PAREN) this.#depth++;
      else if (code === CLOSE_PAREN) this.#depth--;
    } else if (isOpened) {
      this.#depth = 1;
    }
    if (this.#angle !== "no") this.#feedAngle(code);
    if (isOpened) this.#awaitsAngle = true;
    else if (this.#awaitsAngle) this.#awaitAngle(code);
  }

  #feedAngle(code: number): void {
    if (code === GREATER && !this.#isEscaped) this.#angle = "closing";
    else if (this.#angle === "closing") {
      this.#angle = code === CLOSE_PAREN || isBlank(code) ? "no" : "open";
    }
  }

  #awaitAngle(code: number): void {
    const isMark = code === GREATER && this.#isAtStart;
    if (isBlank(code) || isMark) return;
    this.#awaitsAngle = false;
    if (code === LESS) this.#angle = "open";
  }

  #feedDefinition(code: number): void {
    if (this.#definition === "blank" && !isBlank(code)) this.#definition = "open";
    if (code === CARET && this.#previous === OPEN_BRACKET) this.#hasCaret = true;
    if (this.#label === "open" && code === CLOSE_BRACKET && !this.#isEscaped) {
      this.#label = "closed";
      this.#isAtStart = false;
    } else if (this.#label === "closed") {
      this.#label = "no";
      if (code !== COLON) return;
      if (this.#hasCaret) this.#footnote.begin();
      this.#definition = "blank";
      this.#isAtStart = true;
    } else if (this.#isAtStart) {
      if (code === OPEN_BRACKET) this.#beginLabel();
      if (isBlank(code)) return;
      this.#isAtStart = BLOCK_MARKS.includes(String.fromCharCode(code));
      if (code === LESS || this.#isAtStart) this.#tag.beginBlock(code);
    }
  }

  #beginLabel(): void {
    this.#label = "open";
    this.#hasCaret = false;
  }

  #feedTag(code: number): void {
    // A URL in an attribute ends with its tag.
    if (this.#tag.feed(code, this.#previous, this.#isAtStart)) this.#isBare = false;
  }
}
