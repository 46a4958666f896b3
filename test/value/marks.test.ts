import * as fc from "fast-check";
import { expect, it } from "vitest";
import { type Mark, marksOfElements, spanOf } from "../../src/value/marks.ts";
import { parseElements } from "../../src/value/records-text.ts";

it("the span of a range is the smallest that contains the range, for any marks", () => {
  const gaps = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }));
  const property = fc.property(fc.array(gaps, { minLength: 1 }), fc.nat(), fc.nat(), (...given) => {
    const [steps, one, other] = given;
    const places: Mark[] = [[0, 0]];
    for (const [bytes, count] of steps) {
      const [byte, before] = places.at(-1) ?? [0, 0];
      places.push([byte + bytes, before + count]);
    }
    // The last place is the end, which has no mark.
    const [bytes, count] = places.pop() ?? [0, 0];
    const from = Math.min(one % (count + 1), other % (count + 1));
    const to = Math.max(one % (count + 1), other % (count + 1));
    fc.pre(from < to);
    const [fromByte, firstCount] = places.findLast((place) => place[1] <= from) ?? [];
    const toByte = places.find((place) => place[1] >= to)?.[0] ?? bytes;
    const span = spanOf(places, { bytes }, { from, to });
    expect(span).toEqual({ fromByte, toByte, firstCount });
  });
  fc.assert(property, { numRuns: 500 });
});

it("the elements between two marks of an array are those of the whole array", () => {
  const odd = ["],", '"', "\\", "[{é😀", { "}": [1, { b: [] }] }, [[], [2]], null, -1];
  const values = Array.from({ length: 60_000 }, (_, at) => odd[at % odd.length] ?? null);
  const bytes = new TextEncoder().encode(JSON.stringify(values, null, 1));
  const marks = marksOfElements(bytes);
  expect(marks.length).toBeGreaterThan(2);
  for (const [at, [byte, count]] of marks.entries()) {
    const [end, next] = marks[at + 1] ?? [bytes.length, values.length];
    const part = parseElements(new TextDecoder().decode(bytes.subarray(byte, end)));
    expect(part).toEqual(values.slice(count, next));
  }
});
