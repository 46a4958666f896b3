import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteLength, describeValue, valueFrom } from "../../src/store/described.ts";
import { limits } from "../../src/limits.ts";
import type { Json } from "../../src/value/json.ts";

/** Any UTF-16 units, so that most surrogates stand alone; half of them from the surrogates' range. */
const anyUnits = fc.string({
  unit: fc
    .oneof(fc.nat(0xffff), fc.integer({ min: 0xd800, max: 0xdfff }))
    .map((code) => String.fromCharCode(code)),
});
const anyText = fc.oneof(anyUnits, fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));

describe("byteLength", () => {
  it("is the length that the text has as UTF-8, lone surrogates included", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(byteLength(text)).toBe(Buffer.byteLength(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["", 0],
    ["\u0000", 1],
    ["\u007f", 1],
    ["\u0080", 2],
    ["\u07ff", 2],
    ["\u0800", 3],
    ["\uffff", 3],
    ["\u{10000}", 4],
    ["\u{10ffff}", 4],
    ["\ud800", 3],
    ["\udc00", 3],
    ["\ud83d\ud83d\ude00", 7],
    ["\ude00\ud83d", 6],
  ])("of %j is %i", (text, bytes) => {
    expect(byteLength(text)).toBe(bytes);
  });
});

describe("describeValue", () => {
  it("stores a text that reads back as the same value", () => {
    const anyJson: fc.Arbitrary<Json> = fc.oneof(
      anyText,
      // Through JSON once: it has no negative zero.
      fc.jsonValue({ stringUnit: "binary" }).map((value) => JSON.parse(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(anyJson, (value) => {
        const described = describeValue(value);
        expect(described.text.isWellFormed()).toBe(true);
        expect(valueFrom(described)).toEqual(value);
        expect(described.value).toEqual(value);
        expect(described.about.bytes).toBe(Buffer.byteLength(described.text));
        expect(described.about.chars).toBe(described.text.length);
      }),
    );
  });

  it("keeps a text as it is, and what UTF-8 cannot hold as JSON", () => {
    expect(describeValue('say "hi"')).toMatchObject({ text: 'say "hi"', asText: true });
    expect(describeValue("\ud800")).toMatchObject({ text: '"\\ud800"', asText: false });
    expect(describeValue(["a"])).toMatchObject({ text: '["a"]', asText: false });
  });

  it("counts characters as a person does, bytes as UTF-8 does, and chars as UTF-16 does", () => {
    expect(describeValue("a€😀").about).toMatchObject({ count: 3, bytes: 8, chars: 4 });
    expect(describeValue({ a: [1, 2], b: null }).about).toMatchObject({ count: 2, type: "object" });
  });

  it("takes a value of just maxJsonBytes and refuses one byte more", () => {
    const bytes = limits.maxJsonBytes;
    expect(describeValue("x".repeat(bytes)).about.bytes).toBe(bytes);
    expect(() => describeValue("x".repeat(bytes + 1))).toThrow(
      expect.objectContaining({
        code: "limit_exceeded",
        details: { limit: "maxJsonBytes", maximum: bytes, actual: bytes + 1 },
      }),
    );
  });
});
