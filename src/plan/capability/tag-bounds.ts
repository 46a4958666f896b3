const SPACE = 32;
const DOUBLE_QUOTE = 34;
const APOSTROPHE = 39;
const DASH = 45;
const SLASH = 47;
const LESS = 60;
const GREATER = 62;
const CLOSING_BRACKET = 93;

/** How a capability tag begins; a blank, `/` or `>` follows. */
export const OPENING = "<capability";

/** What may stand behind a `<` in a body. */
const CLOSING = "/capability";
const COMMENT = "!--";
const CDATA = "![CDATA[";

/** Whether the character behind `OPENING` leaves it a name of its own. */
export function endsName(code: number): boolean {
  return isBlank(code) || code === SLASH || code === GREATER;
}

function isBlank(code: number): boolean {
  return code <= SPACE && (code === SPACE || (code >= 9 && code <= 13));
}

/**
 * Finds where a capability tag ends, one character after the other, whatever its inside is worth: that
 * is for the parser to say. A tag with a fault is read on to its end, so that nothing of it is taken
 * for a tag of its own.
 */
export class TagBounds {
  #place: "tag" | "body" | "markup" | "closing" | "comment" | "cdata" = "tag";
  /** The quote that an attribute's value began with; 0 outside of one. */
  #quote = 0;
  #before = 0;
  #markup = "";
  /** Dashes or brackets in a row. */
  #run = 0;
  #length = OPENING.length;
  #fault: { readonly offset: number; readonly message: string } | undefined;

  /** Characters so far, the opening included. */
  get length(): number {
    return this.#length;
  }

  /** The first thing that keeps it from being a tag. */
  get fault(): { readonly offset: number; readonly message: string } | undefined {
    return this.#fault;
  }

  /** `end`: the tag ends with this character. `next`: it ended, unfinished, in front of it. */
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
      return this.#refuseMarkup(code);
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
    // The text behind the < has its last character in `code`.
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

  /** `behind`: how many characters ago it began, this one counted. */
  #fail(message: string, behind = 1): void {
    this.#fault ??= { offset: this.#length - behind, message };
  }
}
