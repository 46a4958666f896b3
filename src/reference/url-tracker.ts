import * as ascii from "../value/ascii.ts";
import { isDigit, isWordCode } from "../value/characters.ts";
import { isBlank, letterOf, TagTracker } from "./tag-tracker.ts";

const SCHEMES = new Set("http https ws wss ftp mailto data javascript tel sms file".split(" "));
/** Entities of ASCII characters that can form a URL. */
const ENTITIES = new Set(["sol", "colon", "period", "commat"]);
/** Longer than any of these words. One that is as long counts as one that ends with `www`. */
const MAX_WORD_CHARS = 11;
/** Characters, besides white space, that begin a block quote, list item or table row. */
const BLOCK_MARKS = ">-*+|.)0123456789";
/** Characters, besides letters, that may directly precede the dot of a name. */
const NAME_MARKS = "._+-;:&=$,0123456789";
/** Marks before the `@` of an address: all of `atext` (RFC 5322), as in linkify. */
const ADDRESS_MARKS = `${NAME_MARKS}!#%'*/?^\`{|}~`;
/** Characters of a scheme besides letters and digits, and the one after it; some renderers remove backslashes. */
const SCHEME_MARKS = "+-.:\\";
/** Characters that begin a port, path, query or fragment. */
const AFTER_HOST = "/?#:";

/**
 * Tracks whether the next character would be part of a URL that a Markdown or HTML renderer may detect: a
 * bare URL, a destination, a link definition or a tag. A footnote counts as part of a URL, because a
 * renderer may move it into one. Feed it all output, including values, because a value may open a URL. It
 * reads forward only, in constant memory, and its trackers are independent of each other. When in doubt,
 * the URL is open: an expanded URL is how a model is made to leak data.
 */
export class UrlTracker {
  #previous = ascii.LF;
  /** The previous character is an unescaped backslash. */
  #isEscaped = false;
  #lineBreaks = 0;
  /** Only block marks (`>`, `-`, `1.`) are on this line so far. */
  #isAtStart = true;
  /** Only white space is on this line so far. */
  #isBlankLine = true;

  #isBare = false;
  /** The last letters since the last mark. A backslash is not a mark. */
  #word = "";
  /** The mark before them: any character that is not a letter. */
  #mark = ascii.LF;
  /** After a dot in a name (`evil.com`), followed only by letters, digits and dashes. */
  #isDotted = false;
  /** After a `<`, without white space since. */
  #isInAngles = false;

  /** Number of open parentheses of a destination; 0 outside. */
  #depth = 0;
  #awaitsAngle = false;
  /** A destination in angle brackets. */
  #angle: "no" | "open" | "closing" = "no";

  #label: "no" | "open" | "closed" = "no";
  /** The label may be that of a footnote. */
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

  /** True if raw HTML may be open, in which neither a fence nor an empty line ends a tag. */
  get isRaw(): boolean {
    return this.#tag.isRaw;
  }

  /**
   * True if text before a character, given as its code, would be the end of an address, or all or the start of an
   * autolink's scheme (`<value:`).
   */
  isOpenWith(next: number): boolean {
    if (next === ascii.AT) return true;
    const mayContinue = isWordCode(next) || SCHEME_MARKS.includes(String.fromCharCode(next));
    return this.#previous === ascii.LESS && mayContinue;
  }

  /** True if the text, emitted next, would be part of a URL, or of a footnote that a renderer may move into one. */
  wouldContain(text: string): boolean {
    return this.isOpen || this.#footnote.wouldContain(text);
  }

  feed(text: string): void {
    for (let index = 0; index < text.length; index++) this.#feedCode(text.charCodeAt(index));
  }

  #feedCode(code: number): void {
    if (code === ascii.LF || code === ascii.CR) this.#feedLineBreak(code);
    else {
      this.#lineBreaks = 0;
      this.#footnote.feed(code);
      if (!isBlank(code)) this.#isBlankLine = false;
      if (this.#tag.isOpen || this.#previous === ascii.LESS) this.#feedTag(code);
      this.#feedBare(code);
      this.#feedDestination(code);
      this.#feedDefinition(code);
    }
    this.#isEscaped = code === ascii.BACKSLASH && !this.#isEscaped;
    this.#previous = code;
  }

  #feedLineBreak(code: number): void {
    const isSecondHalf = code === ascii.LF && this.#previous === ascii.CR;
    if (isSecondHalf) return;
    this.#lineBreaks++;
    const isEmptyLine = this.#lineBreaks > 1;
    this.#endWord(ascii.LF);
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

  #feedBare(code: number): void {
    const letter = letterOf(code);
    if (letter !== "") this.#word = (this.#word + letter).slice(-MAX_WORD_CHARS);
    // Some renderers remove backslashes before they search for URLs.
    else if (code !== ascii.BACKSLASH) {
      // A form feed ends a URL for a browser, but not for every renderer.
      if (code === ascii.SPACE || code === ascii.TAB) this.#isBare = false;
      else if (this.#opensBare(code)) this.#isBare = true;
      this.#endWord(code);
    }
  }

  #opensBare(code: number): boolean {
    const [word, mark] = [this.#word, this.#mark];
    if (this.#isDotted && word.length > 1 && AFTER_HOST.includes(String.fromCharCode(code)))
      return true;
    if (code === ascii.COLON) return SCHEMES.has(word) && !isDigit(mark);
    if (code === ascii.DOT) return word.endsWith("www") || word.length === MAX_WORD_CHARS;
    if (code === ascii.AT) return this.#isInAngles || this.#isAfter(ADDRESS_MARKS);
    if (code === ascii.SEMICOLON) return mark === ascii.AMPERSAND && ENTITIES.has(word);
    if (word !== "") return false;
    // A footnote's name is part of its link. Numeric entities can represent any character.
    return (
      (code === ascii.SLASH && mark === ascii.SLASH) ||
      (code === ascii.CARET && mark === ascii.OPEN_BRACKET) ||
      (code === ascii.HASH && mark === ascii.AMPERSAND)
    );
  }

  /** True if a letter or one of the marks directly precedes. */
  #isAfter(marks: string): boolean {
    return this.#word !== "" || marks.includes(String.fromCharCode(this.#mark));
  }

  #endWord(code: number): void {
    if (this.#mark === ascii.LESS) this.#tag.endName(this.#word);
    if (code === ascii.DOT) this.#isDotted = this.#isAfter(NAME_MARKS);
    else if (code !== ascii.DASH && !isDigit(code)) this.#isDotted = false;
    if (code === ascii.LESS) {
      this.#isInAngles = true;
      this.#tag.begin(!this.isOpen && !this.#isEscaped);
    } else if (code === ascii.GREATER || code === ascii.LF || isBlank(code))
      this.#isInAngles = false;
    this.#word = "";
    this.#mark = code;
  }

  #feedDestination(code: number): void {
    const isOpened = code === ascii.OPEN_PAREN && this.#previous === ascii.CLOSE_BRACKET;
    if (this.#depth > 0 && !this.#isEscaped) {
      if (code === ascii.OPEN_PAREN) this.#depth++;
      else if (code === ascii.CLOSE_PAREN) this.#depth--;
    } else if (isOpened) {
      this.#depth = 1;
    }
    if (this.#angle !== "no") this.#feedAngle(code);
    if (isOpened) this.#awaitsAngle = true;
    else if (this.#awaitsAngle) this.#awaitAngle(code);
  }

  #feedAngle(code: number): void {
    if (code === ascii.GREATER && !this.#isEscaped) this.#angle = "closing";
    else if (this.#angle === "closing") {
      this.#angle = code === ascii.CLOSE_PAREN || isBlank(code) ? "no" : "open";
    }
  }

  #awaitAngle(code: number): void {
    const isMark = code === ascii.GREATER && this.#isAtStart;
    if (isBlank(code) || isMark) return;
    this.#awaitsAngle = false;
    if (code === ascii.LESS) this.#angle = "open";
  }

  #feedDefinition(code: number): void {
    if (this.#definition === "blank" && !isBlank(code)) this.#definition = "open";
    if (code === ascii.CARET && this.#previous === ascii.OPEN_BRACKET) this.#hasCaret = true;
    if (this.#label === "open" && code === ascii.CLOSE_BRACKET && !this.#isEscaped) {
      this.#label = "closed";
      this.#isAtStart = false;
    } else if (this.#label === "closed") {
      this.#label = "no";
      if (code !== ascii.COLON) return;
      if (this.#hasCaret) this.#footnote.begin();
      this.#definition = "blank";
      this.#isAtStart = true;
    } else if (this.#isAtStart) {
      if (code === ascii.OPEN_BRACKET) this.#beginLabel();
      if (isBlank(code)) return;
      this.#isAtStart = BLOCK_MARKS.includes(String.fromCharCode(code));
      if (code === ascii.LESS || this.#isAtStart) this.#tag.beginBlock(code);
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

/** Indented or quoted text after optional line breaks. */
const CONTINUES = /^[\r\n]*[ \t>]/;

/**
 * Tracks whether a text is inside the definition of a footnote. A renderer moves the definition to the end
 * of the page, where an attribute left open further down can absorb it. The definition ends after a blank
 * line, at the first line that is neither indented nor quoted.
 */
class FootnoteTracker {
  #place: "outside" | "inside" | "after a blank line" = "outside";
  #isAtStart = true;
  #hasText = false;

  get isOpen(): boolean {
    return this.#place === "inside" || (this.#place !== "outside" && !this.#isAtStart);
  }

  /** True if the text, emitted next, would be inside. */
  wouldContain(text: string): boolean {
    return this.isOpen || (this.#place !== "outside" && CONTINUES.test(text));
  }

  begin(): void {
    this.#place = "inside";
  }

  feed(code: number): void {
    const isAtStart = this.#isAtStart;
    this.#isAtStart = false;
    if (code === ascii.SPACE || code === ascii.TAB || code === ascii.GREATER) return;
    this.#hasText = true;
    if (isAtStart && this.#place === "after a blank line") this.#place = "outside";
  }

  endLine(): void {
    if (this.#place !== "outside") {
      this.#place = this.#hasText ? "inside" : "after a blank line";
    }
    this.#isAtStart = true;
    this.#hasText = false;
  }
}
