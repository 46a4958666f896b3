import { parseXml, XmlError } from "@rgrove/parse-xml";
import * as limits from "../../../../src/limits.ts";
import { CodeTracker } from "../../../../src/internal.ts";
import { type CapabilityCall, callOf, XmlFault } from "./capability-call.ts";

export interface WrittenCall {
  readonly call: CapabilityCall;
  /** The tag as the model wrote it. */
  readonly source: string;
}

const OPENINGS = ["<capability", "<!--"];
const OPENED = /^<(?:capability[ \t-\r/>]|!--)/;
const COMMENT = "<!--(?:(?!-->)[^])*-->";
const ATTRIBUTES = `(?:[^<>"'/]|/(?!>)|"[^"]*"|'[^']*')*`;
const END = "</capability[ \\t-\\r]*>";
const BODY = `(?:[^<]|${COMMENT}|<!\\[CDATA\\[(?:(?!\\]\\]>)[^])*\\]\\]>|<(?!${END.slice(1)}|!--|!\\[CDATA\\[))*`;
/** A comment; a tag to its end, valid or not; or a tag that another one follows before its end. */
const WHOLE = new RegExp(`^(?:${COMMENT}|<capability${ATTRIBUTES}(?:(?=<)|/>|>${BODY}${END}))`);

/**
 * Splits a model's text, which arrives in chunks, into text to show and calls to make. The result does not
 * depend on where chunks begin and end. Holds back only text that may still become a call or a comment, at most
 * `maxPieceChars`. A broken tag stays text to its end, and so do tags in Markdown code and in comments.
 */
export class CapabilityScanner {
  readonly #code = new CodeTracker();
  #held = "";
  #pieces: (string | WrittenCall)[] = [];

  get heldChars(): number {
    return this.#held.length;
  }

  /** Adds a chunk. Returns the pieces that are complete now, in order. */
  feed(chunk: string): readonly (string | WrittenCall)[] {
    this.#pieces = [];
    const text = this.#held + chunk;
    // Without such a character, what is held is still open.
    const mayEnd = /[<>]/.test(chunk) || text.length >= limits.maxPieceChars;
    this.#held = OPENED.test(this.#held) && !mayEnd ? text : this.#read(text);
    return this.#pieces;
  }

  /** Ends the text. Held characters become text. */
  end(): readonly (string | WrittenCall)[] {
    this.#pieces = [];
    this.#show(this.#held);
    this.#held = "";
    return this.#pieces;
  }

  /** Returns what is held. */
  #read(text: string): string {
    let rest = text;
    for (;;) {
      rest = rest.slice(this.#showText(rest));
      if (OPENINGS.some((one) => one.startsWith(rest))) return rest;
      const part = rest.slice(0, limits.maxPieceChars);
      const isOpened = OPENED.test(rest);
      const [source] = (isOpened ? WHOLE.exec(part) : null) ?? [];
      if (isOpened && source === undefined && rest.length < limits.maxPieceChars) return rest;
      const shown = source ?? (isOpened ? part : "<");
      const call = source === undefined ? undefined : callIn(source);
      if (call === undefined) this.#show(shown);
      else this.#pieces.push({ call, source: shown });
      rest = rest.slice(shown.length);
    }
  }

  /** Shows the text up to a `<` outside of code. Returns its length. */
  #showText(text: string): number {
    let at = 0;
    while (at < text.length && (text[at] !== "<" || this.#code.inCode))
      this.#code.feed(text.charCodeAt(at++));
    this.#add(text.slice(0, at));
    return at;
  }

  #show(text: string): void {
    for (let at = 0; at < text.length; at++) this.#code.feed(text.charCodeAt(at));
    this.#add(text);
  }

  #add(text: string): void {
    const last = this.#pieces.at(-1);
    if (typeof last === "string") this.#pieces[this.#pieces.length - 1] = last + text;
    else if (text !== "") this.#pieces.push(text);
  }
}

/** Undefined for a comment, and for a tag that is not valid. */
function callIn(source: string): CapabilityCall | undefined {
  try {
    const { root } = parseXml(withEscapes(source), { preserveCdata: true });
    return root === null ? undefined : callOf(root);
  } catch (error) {
    // A RangeError comes of tags that are nested too deeply.
    const isFault = [XmlError, XmlFault, RangeError].some((kind) => error instanceof kind);
    if (isFault) return undefined;
    throw error;
  }
}

/** Escapes what a model has not: each `<` that begins no markup, each `&` that begins no entity, and `]]>`. */
function withEscapes(source: string): string {
  return source
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(UNESCAPED, (found) => ESCAPES[found] ?? found);
}

const ESCAPES: Readonly<Record<string, string>> = { "<": "&lt;", "&": "&amp;", "]]>": "]]&gt;" };
/** Markup is a closing tag, a declaration, or an element's name with its end or its first attribute. */
const UNESCAPED =
  /<!\[CDATA\[[^]*?\]\]>|<!--[^]*?-->|\]\]>|<(?![/!?]|[A-Za-z_:][\w:.-]{0,99}(?:\s{0,99}\/?>|\s{1,99}[A-Za-z_:][\w:.-]{0,99}\s{0,99}=))|&(?!(?:#\d+|#x[\dA-Fa-f]+|[A-Za-z_][\w.-]*);)/g;
