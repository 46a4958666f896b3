import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Json } from "../../src/value/json.ts";
import { previewOf } from "../../src/value/preview.ts";
import { shapeOf } from "../../src/value/shape.ts";
import { anyJson, nested } from "../support/json-values.ts";

/** Returns the elements that an array's preview shows, and the number that it leaves out. */
function readArrayPreview(preview: string): { shown: readonly Json[]; left: number } {
  const rest = /,… \(\+(\d+) more\)\]$/.exec(preview);
  const shown: readonly Json[] = JSON.parse(
    rest === null ? preview : `${preview.slice(0, rest.index)}]`,
  );
  return { shown, left: Number(rest?.[1] ?? 0) };
}

describe("a preview of a short value", () => {
  const own = JSON.parse('{"__proto__": 1}') as Json;

  it.each<Json>([72, true, null, [], {}, [1, "a", null], { a: 1, b: { c: [2] } }, [[["a"]]], own])(
    "is the JSON of %j",
    (value) => expect(previewOf(value)).toBe(JSON.stringify(value)),
  );

  it.each(["", "a", 'say "hi"', "x".repeat(limits.maxLineChars)])("is the text %j", (text) =>
    expect(previewOf(text)).toBe(text),
  );
});

describe("a preview of a long value", () => {
  it("has a correct count for any array of scalars", () => {
    const scalar = fc.oneof(fc.string({ maxLength: 40 }), fc.integer(), fc.boolean());
    fc.assert(
      fc.property(fc.array(scalar, { maxLength: 300 }), (value) => {
        const { shown, left } = readArrayPreview(previewOf(value));
        expect(shown).toEqual(value.slice(0, shown.length));
        expect(shown.length + left).toBe(value.length);
        expect(shown.length).toBeGreaterThanOrEqual(Math.min(value.length, 1));
      }),
      { numRuns: 300 },
    );
    const short = previewOf(
      Array.from({ length: 500 }, () => 7),
      80,
    );
    expect(short).toMatch(/^\[.{40,}\(\+4\d\d more\)\]$/);
    expect(short.length).toBeLessThanOrEqual(80);
  });

  it("keeps every key of an object and shortens what is nested", () => {
    const rows = Array.from({ length: 300 }, (_, id) => ({ id }));
    const preview = previewOf({ rows, page: 1, next: null });
    for (const key of ['"rows":[', '"page":1', '"next":null']) expect(preview).toContain(key);
    const shown = preview.match(/"id":/g)?.length ?? 0;
    expect(shown).toBeGreaterThan(0);
    expect(preview).toContain(`… (+${300 - shown} more)]`);
  });

  it.each<[Json, string]>([
    [{ a: { b: { c: [1, 2, 3] } } }, '{"a":{"b":{"c":[… (+3 more)]}}}'],
    [[[[{ x: 1, y: 2 }]]], "[[[{… (+2 more)}]]]"],
    [[[[[], {}]]], "[[[[],{}]]]"],
    ["a\r\nb\tc\u0007\u007f\u0085d", "a  b c   d"],
  ])("of %j counts what is too deep, and has no control characters: %s", (value, preview) => {
    expect(previewOf(value)).toBe(preview);
  });

  it("shows the start of a text and says that more follows", () => {
    const text = Array.from({ length: 500 }, (_, index) => index).join(" ");
    const [, start = "", note] = /^(.*)(… \(\+\d+ more\))$/.exec(previewOf(text)) ?? [];
    expect(start.length).toBeGreaterThan(150);
    expect(text.startsWith(start)).toBe(true);
    expect(note).toBeDefined();
  });
});

describe("every preview and every shape", () => {
  /** Lists the faults of a text that describes a value in one line. */
  function faultsOf(text: string, maxChars: number): readonly string[] {
    const faults: string[] = [];
    if (text.length > maxChars) faults.push("too long");
    if (text === "") faults.push("empty");
    if (!text.isWellFormed()) faults.push("half a surrogate pair");
    if (/\p{Cc}/u.test(text)) faults.push("a control character");
    return faults;
  }

  function expectFaultless(value: Json): void {
    if (value !== "") expect(faultsOf(previewOf(value), limits.maxLineChars)).toEqual([]);
    expect(faultsOf(shapeOf(value), limits.maxShapeChars)).toEqual([]);
  }

  it("has a limited number of printable characters for any JSON", () => {
    fc.assert(fc.property(anyJson, expectFaultless), { numRuns: 500 });
  });

  it.each<[string, Json]>([
    ["10,000 nested arrays", nested(10_000, (inner) => [inner, inner])],
    ["10,000 nested objects", nested(10_000, (inner) => ({ inner }))],
    ["a key of 100,000 characters", { ["k".repeat(100_000)]: 1, b: 2 }],
    ["5,000 keys", Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]))],
    ["different keys", Array.from({ length: 500 }, (_, index) => ({ [`k${index}`]: index }))],
    ["only long texts", Array.from({ length: 1_000 }, () => "😀".repeat(1_000))],
    ["what becomes longer in quotes", [{ ["\0".repeat(90)]: "\0".repeat(90) }, 2, 3]],
  ])("has them for %s", (_name, value) => expectFaultless(value));
});
