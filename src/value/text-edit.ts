import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { bordersOf } from "./find-text.ts";
import { Breaks } from "./next-task.ts";
import { type EmitSegment, type Segment, SegmentQueue } from "./segments.ts";

/** Replaces an exact text. */
export interface Replacement {
  /** Not empty. */
  readonly find: string;
  readonly replace: string;
  /** Replaces every occurrence. Default: there must be exactly one. */
  readonly all?: boolean;
}

/** Returns the first line end of a text. */
export function lineEndOf(text: string): string | undefined {
  return /\r?\n/.exec(text)?.[0];
}

/**
 * Returns the text to put in place of another, with the line ends of the text around it. If only line ends are to
 * change, they are kept.
 */
export function withLineEnds(replace: string, find: string, lineEnd: string | undefined): string {
  const own = (text: string) => text.replaceAll("\r\n", "\n");
  if (lineEnd === undefined || own(find) === own(replace)) return replace;
  return own(replace).replaceAll("\n", lineEnd);
}

/** Cost of a piece, in characters that are read. */
const PIECE_CHARS = 64;
/**
 * Counts the characters that the edits of one text read together, with a cost for each piece, and those that they
 * add. Edits may read a text of any length some times, and a short one often.
 */
export class EditWork {
  readonly #maximum: number;
  readonly #breaks = new Breaks();
  #chars = 0;
  #added = 0;

  /** `chars`: the length of the text. */
  constructor(chars: number) {
    this.#maximum = limits.maxReadWork + MAX_TIMES * chars;
  }

  /** Throws `limit_exceeded` above `maxReadWork`. */
  read(chars: number): void {
    this.#chars += chars + PIECE_CHARS;
    const advice = "Make fewer edits in one call, or replace less.";
    requireAtMost(["maxReadWork", this.#maximum], this.#chars, advice);
  }

  /** Throws `limit_exceeded` above `maxInsertedChars`. */
  add(chars: number): void {
    this.#added += chars;
    const advice = "Replace less often, or with a shorter text.";
    requireAtMost("maxInsertedChars", this.#added, advice);
  }

  /** True now and then, when it is time for a break. */
  isBreakDue(): boolean {
    return this.#breaks.areDue(this.#chars);
  }
}

/** How often edits may read a text, beside `maxReadWork`. */
const MAX_TIMES = 5;

/** Cost of a character to find, for which a number is kept. */
const FIND_COST = 16;

/** Lines of occurrences that are remembered. */
const MAX_LINES = 6;

/**
 * Applies one replacement to a text in pieces. Occurrences do not overlap; the first one counts. Holds no
 * more than the start of one occurrence. Cost: linear in the text, for any `find`.
 */
export class TextEdit {
  readonly #replacement: Replacement;
  readonly #work: EditWork;
  readonly #emit: EmitSegment;
  readonly #borders: Int32Array;
  /** Line breaks before the last character of `find`. */
  readonly #breaksInside: number;
  readonly #queue = new SegmentQueue();
  /** Characters of `find` that the end of the queue matches. */
  #matched = 0;
  #count = 0;
  #line = 1;
  readonly #lines: number[] = [];

  /**
   * The work is that of all edits that the text passes through; `emit` is the next of them. Throws `limit_exceeded`.
   */
  constructor(replacement: Replacement, work: EditWork, emit: EmitSegment) {
    this.#replacement = replacement;
    this.#work = work;
    this.#emit = emit;
    work.read(FIND_COST * replacement.find.length);
    this.#borders = bordersOf(replacement.find);
    this.#breaksInside = lineBreaksIn(replacement.find.slice(0, -1));
  }

  /** Occurrences so far. */
  get count(): number {
    return this.#count;
  }

  /** The numbers of the lines in which the first occurrences begin, from 1. */
  get lines(): readonly number[] {
    return this.#lines;
  }

  /** Emits the segments that can no longer change. */
  write(segment: Segment): void {
    if (segment.kind === "removed") return this.#queue.add(segment);
    this.#work.read(segment.text.length);
    this.#queue.add(segment);
    // Offset of the segment in the queue.
    const before = this.#queue.length - segment.text.length;
    const { find, replace } = this.#replacement;
    const emit = this.#emit;
    let taken = 0;
    for (const end of this.#endsIn(segment.text)) {
      this.#queue.take(before + end - find.length - taken, emit);
      this.#queue.take(find.length, (found) => {
        // Text that an earlier edit has added disappears.
        if (found.kind !== "added") emit({ kind: "removed", text: found.text });
      });
      taken = before + end;
      this.#work.add(replace.length);
      emit({ kind: "added", text: replace });
    }
    this.#queue.take(this.#queue.length - this.#matched, emit);
  }

  /** Emits the rest. */
  end(): void {
    this.#matched = 0;
    this.#queue.take(this.#queue.length, this.#emit);
  }

  /**
   * Searches the text, and returns where occurrences end in it. If there must be one and there are more, the edit
   * fails: the others are counted only.
   */
  *#endsIn(text: string): Generator<number> {
    const { all = false } = this.#replacement;
    let counted = 0;
    for (let from = 0; from < text.length;) {
      const end = this.#nextEnd(text, from);
      if (end < 0) break;
      from = end;
      this.#count++;
      if (this.#lines.length < MAX_LINES) {
        this.#line += lineBreaksIn(text.slice(counted, end - 1));
        counted = end - 1;
        this.#lines.push(this.#line - this.#breaksInside);
      }
      if (all || this.#count === 1) yield end;
    }
    if (this.#lines.length < MAX_LINES) this.#line += lineBreaksIn(text.slice(counted));
  }

  /** Returns where the next occurrence ends, or -1. */
  #nextEnd(text: string, from: number): number {
    const { find } = this.#replacement;
    const borders = this.#borders;
    const first = find.charAt(0);
    let matched = this.#matched;
    let end = -1;
    for (let at = from; at < text.length && end < 0; at++) {
      if (matched === 0) {
        at = text.indexOf(first, at);
        if (at < 0) break;
      }
      const code = text.charCodeAt(at);
      while (matched > 0 && find.charCodeAt(matched) !== code) matched = borders[matched] ?? 0;
      if (find.charCodeAt(matched) === code) matched++;
      if (matched === find.length) end = at + 1;
    }
    this.#matched = end < 0 ? matched : 0;
    return end;
  }
}

function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
