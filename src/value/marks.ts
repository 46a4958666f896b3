import * as limits from "../limits.ts";

/**
 * A place in a stored value: before byte `byte` lie exactly `count` elements (of an array) or code points
 * (of a text), and in an array an element begins there. Marks ascend, the first is at the first element
 * or character, none is at the very end.
 */
export type Mark = readonly [byte: number, count: number];

/** The stored bytes `fromByte` to before `toByte`, before which `firstCount` elements or code points lie. */
export interface Span {
  readonly fromByte: number;
  readonly toByte: number;
  readonly firstCount: number;
}

/**
 * The smallest span, by marks, that holds elements or code points `from` to before `to`; empty if they are
 * none. `from` and `to` must be normalised: 0 ≤ `from` ≤ `to` ≤ `total.count`. Cost: logarithmic.
 */
export function spanOf(
  marks: readonly Mark[],
  total: { readonly bytes: number; readonly count: number },
  { from, to }: { readonly from: number; readonly to: number },
): Span {
  const [fromByte, firstCount] = marks[marksUpTo(marks, from) - 1] ?? [0, 0];
  if (from === to) return { fromByte, toByte: fromByte, firstCount };
  const end = to < total.count ? marks[marksUpTo(marks, to - 1)] : undefined;
  return { fromByte, toByte: end?.[0] ?? total.bytes, firstCount };
}

/** How many marks have at most `count` before them. */
function marksUpTo(marks: readonly Mark[], count: number): number {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((marks[middle]?.[1] ?? Infinity) <= count) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Marks in the making: of the places that it is offered, one for each `markBytes` bytes. */
export class MarkList {
  readonly #marks: Mark[] = [];
  #dueByte = 0;

  /** Places before this byte would not be taken. */
  get dueByte(): number {
    return this.#dueByte;
  }

  get marks(): readonly Mark[] {
    return this.#marks;
  }

  /** Places must ascend. */
  offer(byte: number, count: number): void {
    if (byte < this.#dueByte) return;
    this.#marks.push([byte, count]);
    this.#dueByte = byte + limits.markBytes;
  }
}
