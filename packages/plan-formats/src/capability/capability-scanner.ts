import * as limits from "../../../../src/limits.ts";
import { CodeTracker } from "../../../../src/internal.ts";
import { type CapabilityCall, callOf, readTag, unlessFaulty } from "./capability-call.ts";
import { DASH, endsName, GREATER, LESS, OPENING, TagBounds, withEscapes } from "./tag-bounds.ts";

const BANG = 33;
const COMMENT = "<!--";

export interface WrittenCall {
  readonly call: CapabilityCall;
  /** The tag as the model wrote it. */
  readonly source: string;
}

/**
 * Splits a model's text, which arrives in chunks, into text to show and calls to make. The result does not
 * depend on where chunks begin and end. Holds back only text that may still become a call, at most
 * `maxPieceChars`. A broken tag stays text to its end, and so do tags in Markdown code and in comments. Cost:
 * linear in the text's length.
 */
export class CapabilityScanner {
  readonly #code = new CodeTracker();
  /** `broken`: in a tag that stays text. */
  #place: "text" | "opening" | "tag" | "broken" | "comment" = "text";
  #bounds = new TagBounds();
  /** The start of a tag from earlier chunks. */
  #held = "";
  #opening: typeof OPENING | typeof COMMENT = OPENING;
  #openingLength = 0;
  /** Number of consecutive dashes in a comment. */
  #dashes = 0;

  #chunk = "";
  /** Start of the part of the chunk that has not been emitted. */
  #from = 0;
  #pieces: (string | WrittenCall)[] = [];

  get heldChars(): number {
    return this.#held.length;
  }

  /** Adds a chunk. Returns the pieces that are complete now, in order. */
  feed(chunk: string): readonly (string | WrittenCall)[] {
    this.#chunk = chunk;
    this.#from = 0;
    this.#pieces = [];
    for (let at = 0; at < chunk.length; at++) this.#read(chunk.charCodeAt(at), at);
    if (this.#place === "opening" || this.#place === "tag") this.#held += chunk.slice(this.#from);
    else this.#show(chunk.slice(this.#from));
    return this.#pieces;
  }

  /** Ends the text. Held characters become text. */
  end(): readonly (string | WrittenCall)[] {
    this.#chunk = "";
    this.#pieces = [];
    this.#release(0);
    this.#place = "text";
    return this.#pieces;
  }

  #read(code: number, at: number): void {
    switch (this.#place) {
      case "text":
        return this.#inText(code, at);
      case "opening":
        return this.#inOpening(code, at);
      case "comment":
        return this.#inComment(code);
      default:
        return this.#inTag(code, at);
    }
  }

  #inText(code: number, at: number): void {
    if (code !== LESS || this.#code.inCode) {
      this.#code.feed(code);
      return;
    }
    this.#show(this.#chunk.slice(this.#from, at));
    this.#from = at;
    this.#place = "opening";
    this.#openingLength = 1;
  }

  #inOpening(code: number, at: number): void {
    const length = this.#openingLength++;
    // The second character distinguishes a comment from a tag.
    if (length === 1) this.#opening = code === BANG ? COMMENT : OPENING;
    const isMore = length < this.#opening.length && code === this.#opening.charCodeAt(length);
    if (isMore && this.#opening === COMMENT && this.#openingLength === COMMENT.length) {
      this.#release(at + 1);
      this.#place = "comment";
      this.#dashes = 0;
    } else if (length === OPENING.length && endsName(code)) {
      this.#place = "tag";
      this.#bounds = new TagBounds({ body: "written" });
      this.#inTag(code, at);
    } else if (!isMore) {
      this.#release(at);
      this.#place = "text";
      this.#inText(code, at);
    }
  }

  #inComment(code: number): void {
    this.#code.feed(code);
    if (code === GREATER && this.#dashes >= 2) this.#place = "text";
    this.#dashes = code === DASH ? this.#dashes + 1 : 0;
  }

  #inTag(code: number, at: number): void {
    const step = this.#bounds.feed(code);
    if (step === "next") {
      this.#leave(at);
      this.#inText(code, at);
      return;
    }
    if (this.#place === "broken") this.#code.feed(code);
    else if (step === "end") this.#take(at + 1);
    else if (this.#bounds.fault !== undefined) {
      this.#release(at + 1);
      this.#place = "broken";
    }
    if (step === "end" || this.#bounds.length >= limits.maxPieceChars) this.#leave(at + 1);
  }

  /** Leaves the tag. Its rest is text. */
  #leave(end: number): void {
    if (this.#place === "tag") this.#release(end);
    this.#place = "text";
  }

  /** Emits the tag that ends at `end` as a call, if it is valid. */
  #take(end: number): void {
    const source = this.#held + this.#chunk.slice(this.#from, end);
    const call = unlessFaulty(() => callOf(readTag(withEscapes(source))));
    if (call === undefined) return;
    this.#pieces.push({ call, source });
    this.#held = "";
    this.#from = end;
  }

  /** Emits held characters and the chunk up to `end` as text. */
  #release(end: number): void {
    const text = this.#held + this.#chunk.slice(this.#from, end);
    for (let at = 0; at < text.length; at++) this.#code.feed(text.charCodeAt(at));
    this.#show(text);
    this.#held = "";
    this.#from = end;
  }

  #show(text: string): void {
    const last = this.#pieces.at(-1);
    if (typeof last === "string") this.#pieces[this.#pieces.length - 1] = last + text;
    else if (text !== "") this.#pieces.push(text);
  }
}
