import { expect, it } from "vitest";
import { marksOfElements, spanOf } from "../../src/value/marks.ts";
import { parseElements } from "../../src/value/records-text.ts";

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
  for (const [from, to] of [
    [0, 5],
    [31_000, 31_002],
    [59_999, 60_000],
    [7, 7],
  ] as const) {
    const { fromByte, toByte, firstCount } = spanOf(marks, { bytes: bytes.length }, { from, to });
    const part = parseElements(new TextDecoder().decode(bytes.subarray(fromByte, toByte)));
    expect(part.slice(from - firstCount, to - firstCount)).toEqual(values.slice(from, to));
    expect(part.length).toBeLessThan(values.length / 2);
  }
});
