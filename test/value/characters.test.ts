import fc from "fast-check";
import { expect, it } from "vitest";
import { sliceCodePoints } from "../../src/value/characters.ts";

const bound = fc.option(fc.integer({ min: -12, max: 12 }), { nil: undefined });

it("a slice of a text selects code points, from either end", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 10 }), bound, bound, (text, from, to) => {
      const range = {
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
      };
      const expected = Array.from(text).slice(from, to).join("");
      expect(sliceCodePoints(text, range)).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
});
