import * as limits from "../limits.ts";
import * as ascii from "./ascii.ts";

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

/** Returns marks at elements of a JSON array, whose text is valid. Cost: linear. */
export function marksOfElements(bytes: Uint8Array): readonly Mark[] {
  const marks = new MarkList();
  let [depth, commas] = [0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === ascii.QUOTE) at = endOfString(bytes, at);
    else if (code === ascii.COMMA && depth === 1) marks.offer(at + 1, ++commas);
    else if (code === ascii.CLOSE_BRACKET || code === ascii.CLOSE_BRACE) depth--;
    else if (code === ascii.OPEN_BRACKET || code === ascii.OPEN_BRACE) {
      if (depth === 0) marks.offer(at + 1, 0);
      depth++;
    }
  }
  return marks.marks;
}

/** The place of the quote that ends the string at `start`. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== ascii.QUOTE)
    at += bytes[at] === ascii.BACKSLASH ? 2 : 1;
  return at;
}
