import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { ArrayMeter, marksOfElements } from "../../src/value/array-meter.ts";
import type { Json } from "../../src/value/json.ts";
import { spanOf } from "../../src/value/marks.ts";
import { parseElements } from "../../src/value/records-text.ts";
import { previewOf } from "../../src/value/preview.ts";
import { shapeOf } from "../../src/value/shape.ts";
import { slow } from "../support/slow.ts";

/** Returns what the meter reports about a text that arrives in these pieces. */
function metered(pieces: readonly (string | Uint8Array)[]) {
  const meter = new ArrayMeter();
  for (const piece of pieces) meter.write(Buffer.from(piece));
  const { about, body, marks } = meter.end();
  const { type: _type, ...described } = about;
  return { ...described, bytes: body, marks };
}

/** Cuts the text not at all, at every byte into two pieces, and into bytes. */
function cuts(text: string): readonly (readonly Uint8Array[])[] {
  const bytes = Buffer.from(text);
  const twice = Array.from(bytes, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  return [[bytes], ...twice, [...bytes].map((byte) => Uint8Array.of(byte))];
}

function expected(values: readonly Json[], text: string) {
  const chars = JSON.stringify(values).length;
  const bytes = new TextEncoder().encode(text);
  const summary = { shape: shapeOf(values), preview: previewOf(values) };
  return { bytes, chars, count: values.length, ...summary };
}

const VALID = [
  "[]",
  " \t\r\n[ \n] ",
  '[1, "a", null, true, -0, 1e2]',
  '[ {"a": [1, {"b": "},]"}]}, [[], [2, 3]] ]\n',
  String.raw`["\"", "\\", "[,]\\\"", "é😀\ud83d"]`,
  String.raw`["\"],", "a"]`,
];

const INVALID = [
  ["[", "[1", "[1,", "[1,]", "[,]", "[,1]", "[1,,2]", "[1 2]", "[1}", "[{]}", '[{"a":1],2]'],
  ["[1]]", "[1] 2", "[],", '["a]', '["a\n"]', "[[1]", "[{}", '["\\"]', "[]]", "[ ,]"],
].flat();

describe("an array received in pieces", () => {
  it.each(VALID)("equals the whole array, wherever it is split: %j", (text) => {
    // Every text is an array.
    const values = JSON.parse(text) as readonly Json[];
    for (const pieces of cuts(text)) expect(metered(pieces)).toMatchObject(expected(values, text));
  });

  it.each(INVALID)("is refused if JSON.parse refuses it, wherever it is split: %j", (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    const refused = expect.objectContaining({ code: "bad_json" });
    for (const pieces of cuts(text)) expect(() => metered(pieces)).toThrow(refused);
  });

  it("has marks, and the shape of its first elements", () => {
    const values = Array.from({ length: 30_000 }, (_, id) => (id < 10_000 ? { id } : `${id} é`));
    const text = JSON.stringify(values);
    const pieces = Array.from({ length: Math.ceil(text.length / 50_000) }, (_, at) =>
      text.slice(at * 50_000, (at + 1) * 50_000),
    );
    const { marks, ...read } = metered(pieces);
    expect(read).toEqual(expected(values, text));
    expect(marks.length).toBeGreaterThan(1);
    const parts = marks.flatMap(([byte], index) => {
      const end = marks[index + 1]?.[0] ?? read.bytes.length;
      expect(end - byte).toBeLessThan(2 * limits.markBytes);
      return parseElements(new TextDecoder().decode(read.bytes.subarray(byte, end)));
    });
    expect([parts, marks]).toEqual([values, marksOfElements(read.bytes)]);
    for (const [from, to] of [
      [0, 5],
      [12_345, 12_350],
      [29_998, 30_000],
    ] as const) {
      const span = spanOf(marks, { bytes: read.bytes.length }, { from, to });
      const text = new TextDecoder().decode(read.bytes.subarray(span.fromByte, span.toByte));
      const slice = parseElements(text).slice(from - span.firstCount, to - span.firstCount);
      expect(slice).toEqual(values.slice(from, to));
    }
  });

  it("has the same limits as a whole array, and refuses one level or container more", slow, () => {
    const nested = (levels: number) => ["[1,", "[".repeat(levels - 1), "]".repeat(levels)];
    expect(() => metered(nested(limits.maxDepth))).not.toThrow();
    const refused = expect.objectContaining({ code: "limit_exceeded" });
    expect(() => metered(nested(limits.maxDepth + 1))).toThrow(refused);
    const half = limits.maxContainers / 2;
    const many = (last: string) => ["[", "[],".repeat(half), "[],".repeat(half - 2), last, "]"];
    expect(metered(many("[]")).count).toBe(limits.maxContainers - 1);
    expect(() => metered(many("[],[]"))).toThrow(refused);
    expect(new TextDecoder().decode(metered(["[1,", "1e400,", "2]"]).bytes)).toBe("[1,1e400,2]");
  });
});
