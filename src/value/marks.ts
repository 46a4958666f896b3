import * as limits from "../limits.ts";

/**
 * A position in a stored value: exactly `count` elements (of an array) or code points (of a text) precede
 * byte `byte`. In an array, an element begins there. Marks ascend; the first is at the first element or
 * character, and none is at the end.
 */
export type Mark = readonly [byte: number, count: number];

/**
 * The stored bytes from `fromByte` up to, but not including, `toByte`, preceded by `firstCount` elements or
 * code points.
 */
export interface Span {
  readonly fromByte: number;
  readonly toByte: number;
  readonly firstCount: number;
}

/**
 * Returns the smallest span between marks that contains the elements or code points from `from` up to, but
 * not including, `to`; empty if there are none. Bounds must be normalised: 0 ≤ `from` ≤ `to` ≤
 * `total.count`. Cost: logarithmic.
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

/** Counts the marks that are preceded by at most `count`. */
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

/** Collects marks: one of the offered positions for each `markBytes` bytes. */
export class MarkList {
  readonly #marks: Mark[] = [];
  #dueByte = 0;

  /** Positions before this byte are not taken. */
  get dueByte(): number {
    return this.#dueByte;
  }

  get marks(): readonly Mark[] {
    return this.#marks;
  }

  /** Offers a position. Positions must ascend. */
  offer(byte: number, count: number): void {
    if (byte < this.#dueByte) return;
    this.#marks.push([byte, count]);
    this.#dueByte = byte + limits.markBytes;
  }
}
