import * as fc from "fast-check";
import { expect, it } from "vitest";
import { watch } from "../support/count-work.ts";
import { indexIn } from "../../src/value/find-text.ts";

it("finds what indexOf() finds, in short and long pieces", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 700 });
  fc.assert(
    fc.property(text, text, fc.nat(700), (all, other, from) => {
      const part = all.slice(from % (all.length + 1));
      for (const piece of [part, other, `${part}${other}`]) {
        expect(indexIn(all, piece)).toBe(all.indexOf(piece));
      }
    }),
  );
});

it("reads each character only a few times, for any piece", () => {
  const side = "a".repeat(500);
  const text = "a".repeat(50_000);
  let looks = 0;
  const end = watch(String.prototype, "charCodeAt", () => {
    looks++;
  });
  try {
    expect(indexIn(text, `${side}b${side}`)).toBe(-1);
  } finally {
    end();
  }
  expect(looks).toBeGreaterThan(text.length);
  expect(looks).toBeLessThan(6 * text.length);
});
