import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinBytes } from "../../src/value/bytes.ts";
import { ByteBuffer } from "../../src/value/byte-buffer.ts";
import { slow } from "../support/slow.ts";

const pieces = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 50 }),
    fc
      .integer({ min: 4_000, max: 150_000 })
      .map((length) => new Uint8Array(length).fill(length % 251)),
  ),
  { maxLength: 8 },
);

describe("buffered bytes", () => {
  it("equal the appended pieces, and are empty afterwards", slow, () => {
    fc.assert(
      fc.property(pieces, pieces, (first, second) => {
        const held = new ByteBuffer();
        for (const all of [first, second]) {
          for (const piece of all) held.add(piece);
          const whole = joinBytes(all);
          expect(held.size).toBe(whole.length);
          const start = held.start();
          expect(start.length).toBeLessThanOrEqual(65_536);
          expect(start.length > 0).toBe(whole.length > 0);
          expect(Buffer.compare(start, whole.subarray(0, start.length))).toBe(0);
          expect(Buffer.compare(joinBytes([...held.take()]), whole)).toBe(0);
          expect(held.size).toBe(0);
        }
      }),
    );
  });

  it("do not change when the appended buffer is reused", () => {
    const held = new ByteBuffer();
    const buffer = new Uint8Array([1, 2, 3]);
    held.add(buffer);
    buffer.fill(9);
    held.add(buffer);
    expect([...joinBytes([...held.take()])]).toEqual([1, 2, 3, 9, 9, 9]);
  });
});
