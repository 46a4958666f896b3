import { XmlFault } from "./capability-call.ts";

const SPACE = 32;
const DOUBLE_QUOTE = 34;
const APOSTROPHE = 39;
export const DASH = 45;
const SLASH = 47;
export const LESS = 60;
export const GREATER = 62;
const CLOSING_BRACKET = 93;

/** The start of a capability tag. A blank, `/` or `>` follows. */
export const OPENING = "<capability";

/** Text that may follow a `<` in a body. */
const CLOSING = "/capability";
const COMMENT = "!--";
const CDATA = "![CDATA[";

/** True if the character after `OPENING` ends the tag name. */
export function endsName(code: number): boolean {
  return isBlank(code) || code === SLASH || code === GREATER;
}

function isBlank(code: number): boolean {
  return code <= SPACE && (code === SPACE || (code >= 9 && code <= 13));
}

/**
 * Finds the end of a capability tag, one character at a time. The content is validated later, by the parser.
 * A tag with an error is read to its end, so that no part of it is mistaken for a tag.
 */
export class TagBounds {
  readonly #isMarkup: (text: string) => boolean | undefined;
  #place: "tag" | "body" | "markup" | "closing" | "comment" | "cdata" = "tag";
  /** The opening quote of the current attribute value. 0 outside of one. */
  #quote = 0;
  #before = 0;
  #markup = "";
  /** Number of consecutive dashes or brackets. */
  #run = 0;
  #length = OPENING.length;
  #fault: XmlFault | undefined;

  /** `body`: what a `<` in a body begins if it is not XML. Default: markup, which is an error. */
  constructor({ body = "xml" }: { readonly body?: "xml" | "written" } = {}) {
    this.#isMarkup = body === "xml" ? () => true : isMarkup;
  }

  get length(): number {
    return this.#length;
  }

  get fault(): XmlFault | undefined {
    return this.#fault;
  }

  /** Reads a character. `end`: the tag ends with it. `next`: the tag ended before it, incomplete. */
  feed(code: number): "inside" | "end" | "next" {
    this.#length++;
    switch (this.#place) {
      case "tag":
        return this.#inTag(code);
      case "body":
        return this.#inBody(code);
      case "markup":
        return this.#inMarkup(code);
      case "closing":
        return this.#inClosing(code);
      case "comment":
        return this.#inSection(code, DASH);
      case "cdata":
        return this.#inSection(code, CLOSING_BRACKET);
    }
  }

  #inTag(code: number): "inside" | "end" | "next" {
    const before = this.#before;
    this.#before = code;
    if (this.#quote !== 0) {
      if (code === this.#quote) this.#quote = 0;
      else if (code === LESS) {
        this.#fail("An attribute's value ends before this <, or has it written as &lt;.");
      }
      return "inside";
    }
    if (code === DOUBLE_QUOTE || code === APOSTROPHE) this.#quote = code;
    else if (code === LESS) {
      this.#fail("The tag in front of this < is not closed: end it with > or />.");
      return "next";
    } else if (code === GREATER) {
      if (before === SLASH) return "end";
      this.#place = "body";
    }
    return "inside";
  }

  #inBody(code: number): "inside" {
    this.#place = code === LESS ? "markup" : "body";
    this.#markup = "";
    return "inside";
  }

  #inMarkup(code: number): "inside" {
    this.#markup += String.fromCharCode(code);
    this.#run = 0;
    if (this.#markup === CLOSING) this.#place = "closing";
    else if (this.#markup === COMMENT) this.#place = "comment";
    else if (this.#markup === CDATA) this.#place = "cdata";
    else if (![CLOSING, COMMENT, CDATA].some((known) => known.startsWith(this.#markup))) {
      const isRefused = this.#isMarkup(this.#markup);
      if (isRefused === true) return this.#refuseMarkup(code);
      if (isRefused === false) return this.#inBody(code);
    }
    return "inside";
  }

  #inClosing(code: number): "inside" | "end" {
    if (code === GREATER) return "end";
    if (isBlank(code)) this.#markup += " ";
    else return this.#refuseMarkup(code);
    return "inside";
  }

  #refuseMarkup(code: number): "inside" {
    // `code` is the last character of the text after the `<`.
    this.#fail(
      "A body is text: write markup in it as <![CDATA[…]]>, or its < as &lt;. Capability tags do not nest; is the one in front closed?",
      this.#markup.length + (this.#place === "closing" ? 2 : 1),
    );
    return this.#inBody(code);
  }

  #inSection(code: number, mark: number): "inside" {
    if (code === GREATER && this.#run >= 2) this.#place = "body";
    this.#run = code === mark ? this.#run + 1 : 0;
    return "inside";
  }

  /** `behind`: how many characters ago the error began, including the current one. */
  #fail(message: string, behind = 1): void {
    this.#fault ??= new XmlFault(message, this.#length - behind);
  }
}

/**
 * True if the text after a `<` begins a tag, a declaration or an instruction; false if it does not, as in
 * `a < b` or `i<n;`; undefined if more text decides.
 */
function isMarkup(text: string): boolean | undefined {
  if (text.length > MAX_TAG_START_CHARS) return false;
  if (MARKUP.test(text)) return true;
  return MAY_BE_MARKUP.test(text) ? undefined : false;
}

/** A longer tag in a body is text up to its first `>` or `=`. */
const MAX_TAG_START_CHARS = 100;
/** A closing tag, a declaration, or an element's name with its end or its first attribute. */
const MARKUP = /^(?:[/!?]|[A-Za-z_:][\w:.-]*(?:\s*\/?>|\s+[A-Za-z_:][\w:.-]*\s*=))/;
const MAY_BE_MARKUP = /^[A-Za-z_:][\w:.-]*(?:\s*\/?|\s+[A-Za-z_:][\w:.-]*\s*)$/;

/**
 * Escapes what a model has not escaped in a tag whose bounds were found with `body: "written"`: each `<` of
 * its body that begins no markup, each `&` that begins no entity, and `]]>`.
 */
export function withEscapes(source: string): string {
  return source.replaceAll(UNESCAPED, (found) => ESCAPES[found] ?? found);
}

const ESCAPES: Readonly<Record<string, string>> = { "<": "&lt;", "&": "&amp;", "]]>": "]]&gt;" };
const UNESCAPED =
  /<!\[CDATA\[[^]*?\]\]>|<!--[^]*?-->|\]\]>|<(?!\/?capability[\s/>])|&(?!(?:#\d+|#x[\dA-Fa-f]+|[A-Za-z_][\w.-]*);)/g;
