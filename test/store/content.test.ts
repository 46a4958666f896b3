import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { type Content, JSON_TYPE, jsonContent, TEXT_TYPE } from "../../src/store/bytes/content.ts";
import type { Json } from "../../src/value/json.ts";
import { decodeUtf8 } from "../../src/value/encoding.ts";
import { slow } from "../support/slow.ts";

/** Arbitrary UTF-16 units, half of them surrogates, so that most surrogates are unpaired. */
const anyUnits = fc.string({
  unit: fc
    .oneof(fc.nat(0xffff), fc.integer({ min: 0xd800, max: 0xdfff }))
    .map((code) => String.fromCharCode(code)),
});
const anyText = fc.oneof(anyUnits, fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));
const anyJson: fc.Arbitrary<Json> = fc.oneof(
  anyText,
  // Converted through JSON once, because JSON has no negative zero.
  fc.jsonValue({ stringUnit: "binary" }).map((value) => JSON.parse(JSON.stringify(value)) as Json),
);

/** Returns the stored text. Large values are stored as bytes. */
function textOf({ body }: Content): string {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return decodeUtf8(body);
  throw new Error("It is not in memory.");
}

it("decodeUtf8 returns every text that UTF-8 can encode, a byte order mark and NUL included", () => {
  expect(decodeUtf8(Buffer.from("\ufeffa\u0000"))).toBe("\ufeffa\u0000");
  fc.assert(
    fc.property(anyText, (text) => {
      expect(decodeUtf8(Buffer.from(text))).toBe(text.toWellFormed());
    }),
  );
});

describe("jsonContent", () => {
  it("stores a text that reads back as the same value", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const content = jsonContent(value);
        const text = textOf(content);
        expect(text.isWellFormed()).toBe(true);
        expect(content.about.mediaType === TEXT_TYPE ? text : JSON.parse(text)).toEqual(value);
        expect(content.value).toEqual(value);
        expect(content.about.bytes).toBe(Buffer.byteLength(text));
        expect(content.about.chars).toBe(text.length);
        expect(content.marks).toEqual([]);
      }),
    );
  });

  it("stores a text as it is, or as JSON if UTF-8 cannot encode it", () => {
    const text = { body: 'say "hi"', about: { mediaType: TEXT_TYPE, type: "string" } };
    expect(jsonContent('say "hi"')).toMatchObject(text);
    const json = { about: { mediaType: JSON_TYPE, type: "string" } };
    expect(jsonContent("\ud800")).toMatchObject({ ...json, body: '"\\ud800"' });
    const array = { about: { mediaType: JSON_TYPE, type: "array" } };
    expect(jsonContent(["a"])).toMatchObject({ ...array, body: '["a"]' });
  });

  it("marks where elements and characters begin in values that are too large for a row", () => {
    const row = limits.maxRowBytes;
    for (const value of ["x".repeat(row), ["x".repeat(row - 4)]])
      expect(jsonContent(value)).toMatchObject({ marks: [], about: { bytes: row } });
    const text = jsonContent("é".repeat(500_000));
    expect(text.marks.length).toBeGreaterThan(3);
    for (const [byte, count] of text.marks) expect(byte).toBe(2 * count);
    const list = jsonContent(Array.from({ length: 50_000 }, (_, id) => ({ id, name: "é" })));
    expect(list.marks.length).toBeGreaterThan(3);
    const bytes = Buffer.from(textOf(list));
    for (const [byte, count] of list.marks)
      expect(bytes.subarray(byte).toString().startsWith(`{"id":${count},`)).toBe(true);
    expect(jsonContent({ a: "x".repeat(500_000) }).marks).toEqual([]);
  });

  it.each([
    ["maxJsonBytes", limits.maxJsonBytes, (bytes: number) => ["x".repeat(bytes - 4)]],
    ["maxValueBytes", limits.maxValueBytes, (bytes: number) => "x".repeat(bytes)],
  ] as const)("accepts exactly %s", slow, (limit, maximum, valueOf) => {
    expect(jsonContent(valueOf(maximum)).about.bytes).toBe(maximum);
    const details = { limit, maximum, actual: maximum + 1 };
    expect(() => jsonContent(valueOf(maximum + 1))).toThrow(
      expect.objectContaining({ code: "limit_exceeded", details }),
    );
  });
});
