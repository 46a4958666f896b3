import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { bordersOf, nextMatched } from "./find-text.ts";
import { type Segment, SegmentQueue } from "./segments.ts";

/** Replaces an exact text. */
export interface Replacement {
  /** Not empty. */
  readonly find: string;
  readonly replace: string;
  /** Replaces every occurrence. Default: there must be exactly one. */
  readonly all?: boolean;
  /** Edits after this one must not find what it adds. */
  readonly isOpaque?: boolean;
}

/** Minimum cost of a piece, in characters that are read. */
const PIECE_CHARS = 512;

/** Counts the characters that the edits of one text read together, with a minimum cost for each piece. */
export class EditWork {
  #chars = 0;

  /** Throws `limit_exceeded` above `maxEditWork`. */
  add(chars: number): void {
    this.#chars += chars + PIECE_CHARS;
    const advice = "Make fewer edits in one call.";
    requireAtMost(["maxEditWork", limits.maxEditWork], this.#chars, advice);
  }
}

/** Lines of occurrences that are remembered. */
const MAX_LINES = 6;

/**
 * Applies one replacement to a text in pieces. Occurrences do not overlap; the first one counts. Holds no
 * more than the start of one occurrence. Cost: linear in the text, for any `find`.
 */
export class TextEdit {
  readonly #replacement: Replacement;
  readonly #work: EditWork;
  readonly #borders: Int32Array;
  readonly #queue = new SegmentQueue();
  /** Characters of `find` that the end of the queue matches. */
  #matched = 0;
  /** Characters of the text that it searches, so far. */
  #read = 0;
  #count = 0;
  #line = 1;
  readonly #lines: number[] = [];

  /** The work is that of all edits that the text passes through. */
  constructor(replacement: Replacement, work: EditWork) {
    this.#replacement = replacement;
    this.#work = work;
    this.#borders = bordersOf(replacement.find);
  }

  /** Occurrences so far. */
  get count(): number {
    return this.#count;
  }

  /** The numbers of the lines in which the first occurrences end, from 1. */
  get lines(): readonly number[] {
    return this.#lines;
  }

  /** Returns the segments that can no longer change. */
  *write(segment: Segment): Generator<Segment> {
    if (segment.kind === "removed") return this.#queue.add(segment);
    this.#read += segment.text.length;
    this.#work.add(segment.text.length);
    const advice = "Make the text smaller.";
    requireAtMost(["maxValueBytes", limits.maxValueBytes], this.#read, advice);
    if (segment.isOpaque === true) {
      yield* this.end();
      this.#line += lineBreaksIn(segment.text);
      yield segment;
      return;
    }
    this.#queue.add(segment);
    // Offset of the segment in the queue.
    const before = this.#queue.length - segment.text.length;
    let taken = 0;
    for (const end of this.#endsIn(segment.text)) {
      const { find, replace, isOpaque = false } = this.#replacement;
      yield* this.#queue.take(before + end - find.length - taken);
      for (const found of this.#queue.take(find.length)) {
        // Text that an earlier edit has added disappears.
        if (found.kind !== "added") yield { kind: "removed", text: found.text };
      }
      taken = before + end;
      yield { kind: "added", text: replace, ...(isOpaque ? { isOpaque } : {}) };
    }
    yield* this.#queue.take(this.#queue.length - this.#matched);
  }

  /** Returns the rest. */
  *end(): Generator<Segment> {
    this.#matched = 0;
    yield* this.#queue.take(this.#queue.length);
  }

  /** Searches the text, and returns where occurrences end in it. */
  *#endsIn(text: string): Generator<number> {
    const { find } = this.#replacement;
    const first = find.charAt(0);
    let counted = 0;
    for (let at = 0; at < text.length; at++) {
      if (this.#matched === 0) {
        at = text.indexOf(first, at);
        if (at < 0) break;
      }
      const step = { matched: this.#matched, code: text.charCodeAt(at) };
      this.#matched = nextMatched(find, this.#borders, step);
      if (this.#matched < find.length) continue;
      this.#matched = 0;
      this.#count++;
      const advice = "Replace a longer text, or make the new text with run_code.";
      requireAtMost(["maxEditOccurrences", limits.maxEditOccurrences], this.#count, advice);
      if (this.#lines.length < MAX_LINES) {
        this.#line += lineBreaksIn(text.slice(counted, at));
        counted = at;
        this.#lines.push(this.#line);
      }
      yield at + 1;
    }
    if (this.#lines.length < MAX_LINES) this.#line += lineBreaksIn(text.slice(counted));
  }
}

/** Passes a segment through edits, one after the other. */
export function* throughEdits(edits: readonly TextEdit[], segment: Segment): Generator<Segment> {
  const [first, ...others] = edits;
  if (first === undefined) return yield segment;
  for (const next of first.write(segment)) yield* throughEdits(others, next);
}

/** Ends edits, one after the other, and returns the rest. */
export function* endOfEdits(edits: readonly TextEdit[]): Generator<Segment> {
  for (const [index, edit] of edits.entries()) {
    for (const segment of edit.end()) yield* throughEdits(edits.slice(index + 1), segment);
  }
}

function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
