import * as fc from "fast-check";
import { expect, it } from "vitest";
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
