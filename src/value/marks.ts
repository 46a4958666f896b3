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
 * not including, `to`; empty if there are none. Bounds must be normalised: 0 ≤ `from` ≤ `to` ≤ `total.count`. Cost:
 * linear in the marks, which are few.
 */
export function spanOf(
  marks: readonly Mark[],
  total: { readonly bytes: number },
  { from, to }: { readonly from: number; readonly to: number },
): Span {
  const [fromByte, firstCount] = marks.findLast(([, count]) => count <= from) ?? [0, 0];
  if (from === to) return { fromByte, toByte: fromByte, firstCount };
  const [toByte] = marks.find(([, count]) => count >= to) ?? [total.bytes];
  return { fromByte, toByte, firstCount };
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
