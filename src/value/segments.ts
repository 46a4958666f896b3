/**
 * A piece of a text that is edited: text that stays, text that is removed, or text that is added. The pieces
 * that are not added, in order, are the text before; those that are not removed are the text after.
 */
export interface Segment {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

export type EmitSegment = (segment: Segment) => void;

/** Takes segments from the front of a queue by the characters of the text after. */
export class SegmentQueue {
  readonly #segments: Segment[] = [];
  /** Index of the first segment that was not taken. */
  #head = 0;
  /** Characters of the text after. */
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(segment: Segment): void {
    this.#segments.push(segment);
    if (segment.kind !== "removed") this.#length += segment.text.length;
  }

  /** Takes segments of `count` characters, with removed ones before and between them. */
  take(count: number, emit: EmitSegment): void {
    let left = count;
    while (this.#head < this.#segments.length) {
      const segment = this.#segments[this.#head];
      if (segment === undefined) break;
      if (segment.kind !== "removed") {
        if (left === 0 && segment.text !== "") break;
        this.#length -= Math.min(left, segment.text.length);
        if (segment.text.length > left) {
          this.#segments[this.#head] = { ...segment, text: segment.text.slice(left) };
          emit({ ...segment, text: segment.text.slice(0, left) });
          break;
        }
        left -= segment.text.length;
      }
      this.#head++;
      emit(segment);
    }
    this.#compact();
  }

  #compact(): void {
    if (this.#head < MAX_TAKEN && this.#head < this.#segments.length) return;
    this.#segments.splice(0, this.#head);
    this.#head = 0;
  }
}

const MAX_TAKEN = 1_000;
