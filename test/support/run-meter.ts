import * as fc from "fast-check";
import * as limits from "../../src/limits.ts";
import type { Mark } from "../../src/value/marks.ts";
import type { Meter } from "../../src/value/meter.ts";

/** Lengths of the pieces that a stream is cut into, repeated in order. */
export const cuts = fc.oneof(
  fc.constantFrom([1], [2], [3], [7], [1, 65_535], [65_536], [65_537], [Infinity]),
  fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 5 }),
  fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
);

/** Longer pieces, for streams that would take too long byte by byte. */
export const longCuts = fc.oneof(
  fc.constantFrom([61], [262_144], [Infinity], [100, 65_535]),
  fc.array(fc.integer({ min: 50, max: 200_000 }), { minLength: 1, maxLength: 5 }),
);

/** Returns the bytes and what the meter reports of them. It sees each piece only during the call that receives it. */
export function runMeter(meter: Meter, bytes: Uint8Array, lengths: readonly number[] = [Infinity]) {
  // Not a Buffer, because slices of a Buffer share its memory.
  const sent = new Uint8Array(bytes);
  for (let start = 0, turn = 0; start < sent.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    const piece = sent.slice(start, start + length);
    meter.write(piece);
    piece.fill(0xff);
    start += piece.length;
  }
  return { stored: Buffer.from(bytes), ...meter.end() };
}

/** Lists the faults of marks: the first mark, their order and their distances. */
export function faultsOf(marks: readonly Mark[], total: { bytes: number; slack: number }) {
  const faults: string[] = [];
  const bytes = [...marks.map(([byte]) => byte), total.bytes];
  if (total.bytes > 0 && (marks[0]?.[0] !== 0 || marks[0][1] !== 0)) faults.push("the first mark");
  for (const [index, byte] of bytes.slice(1).entries()) {
    const gap = byte - (bytes[index] ?? 0);
    const isLast = index === marks.length - 1;
    if (gap < (isLast ? 1 : limits.markBytes)) faults.push(`${gap} bytes to the next`);
    if (gap > limits.markBytes + total.slack) faults.push(`${gap} bytes without a mark`);
  }
  return faults;
}
