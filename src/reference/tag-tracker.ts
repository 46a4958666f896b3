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

/** Places in a tag, as in HTML tokenization. Each is a bit, because a tag may be in several. */
const IN_NAME = 1;
const BEFORE_ATTRIBUTE = 2;
const IN_ATTRIBUTE = 4;
const BEFORE_VALUE = 8;
const IN_VALUE = 16;
const IN_QUOTES = 32;
const IN_APOSTROPHES = 64;
/** After `<!` or `<?`. */
const IN_COMMENT = 128;
/** In code, or in quotes that may never end, because a renderer may escape the closing quote. */
const UNENDING = 256;
const QUOTED = IN_QUOTES | IN_APOSTROPHES;
const EVERYWHERE = 511;

/**
 * A tag that every renderer reads as a tag, and not as text with a bare URL: it contains nothing that binds
 * tighter, such as code or mathematics.
 */
const PLAIN_TAG = /^<[a-z]+(?: [a-z-]+=(["'])(?:(?!\1)[^`$<>\\[\]|\n])*\1)* ?\/?>$/i;
const MAX_PLAIN_TAG_CHARS = 512;

interface Move {
  readonly from: number;
  readonly to: number;
}

const TO_ATTRIBUTE: Move = { from: BEFORE_ATTRIBUTE | IN_ATTRIBUTE, to: IN_ATTRIBUTE };
const TO_VALUE: Move = { from: BEFORE_VALUE, to: IN_VALUE };
/** Transitions by character. A place without a transition does not change. */
const OTHER_MOVES: readonly Move[] = [TO_ATTRIBUTE, TO_VALUE];
const BLANK_MOVES: readonly Move[] = [{ from: IN_NAME | IN_VALUE, to: BEFORE_ATTRIBUTE }];
const MOVES: ReadonlyMap<number, readonly Move[]> = new Map([
  [ascii.SPACE, BLANK_MOVES],
  [ascii.TAB, BLANK_MOVES],
  [ascii.FORM_FEED, BLANK_MOVES],
  [ascii.GREATER, [{ from: EVERYWHERE & ~QUOTED & ~UNENDING, to: 0 }]],
  [
    ascii.SLASH,
    [{ from: IN_NAME | BEFORE_ATTRIBUTE | IN_ATTRIBUTE, to: BEFORE_ATTRIBUTE }, TO_VALUE],
  ],
  [
    ascii.EQUALS,
    [
      { from: BEFORE_ATTRIBUTE, to: IN_ATTRIBUTE },
      { from: IN_ATTRIBUTE, to: BEFORE_VALUE },
      TO_VALUE,
    ],
  ],
  [ascii.QUOTE, quoteMoves(IN_QUOTES)],
  [ascii.APOSTROPHE, quoteMoves(IN_APOSTROPHES)],
]);

/**
 * Tracks whether a text is inside an HTML tag in any reading by a renderer and then a browser: every `<`
 * may begin a tag, regardless of what is open.
 */
export class TagTracker {
  #places = 0;
  /** The tag as written, if it is on one line and nothing else is open; else empty. */
  #text = "";
  /** True if a line since the last empty line may begin an HTML block. */
  #isHtml = false;
  #isRaw = false;
  /** True if the tag contains a quote, or a character that may escape one. */
  #hasQuotes = false;
  /** True after a block quote or a list, which may end an HTML block at any line. */
  #isNested = false;

  get isOpen(): boolean {
    return this.#places !== 0;
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
    const mayEnd = code === ascii.GREATER && !isMark && this.isOpen;
    if (!isMark) this.#places = moved(this.#places, code);
    if (previous === ascii.LESS) this.#open(code);
    if (QUOTES.includes(String.fromCharCode(code))) this.#hasQuotes = true;
    const isTag = this.#feedText(code);
    if (mayEnd && !isTag && this.#isRaw && this.#hasQuotes) this.#places |= UNENDING;
    return isTag;
  }

  #open(code: number): void {
    const isLetter = code < ASCII && letterOf(code) !== "";
    if (isLetter || code === ascii.SLASH) this.#places |= IN_NAME;
    else if (code === ascii.EXCLAMATION || code === ascii.QUESTION) {
      this.#places |= IN_COMMENT;
      this.#isRaw = true;
    }
  }

  #feedText(code: number): boolean {
    if (this.#text === "") return false;
    this.#text += String.fromCharCode(code);
    const isTag = code === ascii.GREATER && PLAIN_TAG.test(this.#text);
    const isOver = code === ascii.GREATER || this.#text.length > MAX_PLAIN_TAG_CHARS;
    if (isOver) this.#text = "";
    return isTag;
  }

  /** Call it at the end of a word of letters after a `<`. */
  endName(word: string): void {
    if (RAW_TAGS.has(word)) this.#isRaw = true;
    if (CODE_TAGS.has(word)) this.#places |= UNENDING;
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
    this.#text = "";
    const mayEndBlock = this.#isRaw || (this.#isHtml && (isBlank || this.#isNested));
    if (mayEndBlock && (this.#places & QUOTED) !== 0) this.#places |= UNENDING;
    this.#places = moved(this.#places, ascii.SPACE);
    if (!isEmpty) return;
    this.#isHtml = false;
    if (!this.#isRaw) this.#places &= UNENDING;
  }
}

function quoteMoves(inside: number): readonly Move[] {
  return [TO_ATTRIBUTE, { from: inside, to: BEFORE_ATTRIBUTE }, { from: BEFORE_VALUE, to: inside }];
}

function moved(places: number, code: number): number {
  if (places === 0) return 0;
  const moves = MOVES.get(code) ?? OTHER_MOVES;
  let next = places;
  for (const { from } of moves) next &= ~from;
  for (const { from, to } of moves) if ((places & from) !== 0) next |= to;
  return next;
}
