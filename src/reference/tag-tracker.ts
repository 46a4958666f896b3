import * as ascii from "../value/ascii.ts";

const ASCII = 128;

/** True for white space within a line, as in the URL standard. */
export function isBlank(code: number): boolean {
  return code === ascii.SPACE || code === ascii.TAB || code === ascii.FORM_FEED;
}

/** Returns an ASCII letter in lower case, or a character that is not ASCII; empty for any other. */
export function letterOf(code: number): string {
  if (code >= ASCII) return String.fromCharCode(code);
  const lower = code | 32;
  return lower >= 97 && lower <= 122 ? String.fromCharCode(lower) : "";
}

/** Tags whose content a renderer may read as raw text: an empty line does not end a tag there. */
const RAW_TAGS = new Set(["pre", "textarea", "code", "kbd"]);
/** Tags whose content can build a URL from anything. */
const CODE_TAGS = new Set(["script", "style"]);

/** Quotes, and characters that make marked escape one in raw text: a preceding backslash, or surrounding backticks. */
const QUOTES = `"'\\\``;

/**
 * A tag that every renderer reads as a tag, and not as text with a bare URL: it contains nothing that binds
 * tighter, such as code or mathematics.
 */
const PLAIN_TAG = /^<[a-z]+(?: [a-z-]+=(["'])(?:(?!\1)[^`$<>\\[\]|\n])*\1)* ?\/?>$/i;
/** A tag with the end of its values, as HTML tokenizes attributes. Quotes are only around values. */
const WHOLE_TAG =
  /^<[a-z][^\s/<>"']*(?:[\s/]+[^\s/<>"'=]+(?:\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>=`]+(?=[\s>])))?)*[\s/]*>$/i;
const MAX_TAG_CHARS = 512;

/**
 * Tracks whether a text is inside an HTML tag in any reading by a renderer and then a browser: every `<`
 * may begin a tag, regardless of what is open. A `>` ends a tag with quotes only if it is certain that it is not in
 * them; if not, an empty line does.
 */
export class TagTracker {
  #isOpen = false;
  /** In code, or in quotes that may never end, because a renderer may escape the closing quote. */
  #isUnending = false;
  /** The tag as written, if nothing else is open; else empty. */
  #text = "";
  /** True if a line since the last empty line may begin an HTML block. */
  #isHtml = false;
  #isRaw = false;
  /** True if the tag contains a quote, or a character that may escape one. */
  #hasQuotes = false;
  /** True after a block quote or a list, which may end an HTML block at any line. */
  #isNested = false;

  get isOpen(): boolean {
    return this.#isOpen || this.#isUnending;
  }

  /** True from a tag or comment on that may be open over everything that follows: code in it is none. */
  get isRaw(): boolean {
    return this.#isRaw;
  }

  /** Call it for a `<`. `isAlone`: nothing else is open and no backslash escapes it. */
  begin(isAlone: boolean): void {
    this.#text = isAlone && !this.isOpen ? "<" : "";
    if (!this.isOpen) this.#hasQuotes = false;
  }

  /**
   * Call it while a tag is open, and after a `<`. `isAtStart`: only block marks precede it on its line.
   * Returns true at the end of text that is certainly a tag.
   */
  feed(code: number, previous: number, isAtStart: boolean): boolean {
    const isMark = code === ascii.GREATER && isAtStart && this.#isNested;
    if (previous === ascii.LESS) this.#open(code);
    if (QUOTES.includes(String.fromCharCode(code))) this.#hasQuotes = true;
    if (this.#text !== "") this.#text += String.fromCharCode(code);
    if (this.#text.length > MAX_TAG_CHARS) this.#text = "";
    if (code !== ascii.GREATER) return false;
    const isTag = PLAIN_TAG.test(this.#text);
    const isWhole = isTag || (!this.#isRaw && WHOLE_TAG.test(this.#text));
    if (!isMark && (isWhole || !this.#hasQuotes)) {
      this.#isOpen = false;
      this.#text = "";
    }
    return isTag;
  }

  #open(code: number): void {
    const isLetter = code < ASCII && letterOf(code) !== "";
    const isComment = code === ascii.EXCLAMATION || code === ascii.QUESTION;
    if (isLetter || isComment || code === ascii.SLASH) this.#isOpen = true;
    if (isComment) this.#isRaw = true;
  }

  /** Call it at the end of a word of letters after a `<`. */
  endName(word: string): void {
    if (RAW_TAGS.has(word)) this.#isRaw = true;
    if (CODE_TAGS.has(word)) this.#isUnending = true;
  }

  /** Call it for a block quote mark, list mark or `<` at the start of a line. */
  beginBlock(code: number): void {
    if (code === ascii.LESS) this.#isHtml = true;
    else this.#isNested = true;
  }

  /**
   * Call it at the end of a line. `isEmpty`: the line has no characters. `isBlank`: it has only white
   * space. Each is applied where it leaves more open: a blank line ends an HTML block for most renderers,
   * but not for all.
   */
  endLine(isEmpty: boolean, isBlank: boolean): void {
    if (this.#text !== "") this.#text += "\n";
    const mayEndBlock = this.#isRaw || (this.#isHtml && (isBlank || this.#isNested));
    if (mayEndBlock && this.#isOpen && this.#hasQuotes) this.#isUnending = true;
    if (!isEmpty) return;
    this.#isHtml = false;
    if (!this.#isRaw) this.#isOpen = false;
  }
}
