import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Consumed } from "../../src/store/labels.ts";
import { approvalRequest } from "../../src/tool/policy.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";
import { slow } from "../support/slow.ts";

const using = (visibility: Consumed["visibility"]): Consumed => ({
  name: "x",
  visibility,
  sources: [],
  trusted: true,
});

function requestFor(resolved: Json, references: readonly Consumed[] = [], input: Json = "written") {
  return approvalRequest({ tool: "send", input, resolved, references });
}

type FixedRow = [Json, Json, Consumed["visibility"], readonly string[] | undefined];

describe("what a person is shown of a call", () => {
  it("is its resolved input, with the size of each parameter", () => {
    expect(requestFor({ to: "Ada", list: [1, 22], none: null })).toEqual({
      reason: "send runs when a person approves it.",
      input: '{"to":"Ada","list":[1,22],"none":null}',
      sizes: [
        { name: "to", chars: 3 },
        { name: "list", chars: 6 },
        { name: "none", chars: 4 },
      ],
    });
  });

  it("has no sizes if the input is not an object", () => {
    for (const input of [5, "text", [1], null, parsedJson("[1e400,-1234567890123456789]")])
      expect(requestFor(input)).toEqual({
        reason: expect.any(String),
        input: JSON.stringify(input),
      });
  });

  it("contains sealed values, but only the written input if there is a secret", () => {
    const input = { key: "$x" };
    expect(requestFor({ key: "value" }, [using("sealed")], input).input).toBe('{"key":"value"}');
    const references = [using("model"), using("secret")];
    expect(requestFor({ key: "value" }, references, input)).toMatchObject({
      input: '{"key":"$x"}',
      sizes: [{ name: "key", chars: 2 }],
    });
  });

  it.each<FixedRow>([
    [{ to: "Ada", n: 5 }, { to: "$x", n: 5 }, "model", undefined],
    [{ to: "Ada", n: 5 }, { to: "$x", n: 5 }, "sealed", ["to"]],
    [{ to: "Ada", n: 5 }, { to: "$x", n: "$x" }, "sealed", ["to", "n"]],
    [{ to: "$x" }, { to: "$x" }, "secret", undefined],
    [{ to: "$x, $y" }, { to: "$x, $y" }, "model", undefined],
    [{ to: "for $9.50" }, { to: "for $x" }, "model", undefined],
    ...["a $b", "${b}", "{{ b }}", "†b", "variable:b"].map((to): FixedRow => [
      { to },
      { to: "$x" },
      "model",
      ["to"],
    ]),
  ])("%j of %j, with a %s value, has fixed %j", (resolved, input, visibility, fixed) => {
    expect(requestFor(resolved, [using(visibility)], input).fixed).toEqual(fixed);
  });

  it("is the literal start of a long input, and the number of other characters", () => {
    const text = "x".repeat(limits.maxExcerptChars);
    const { input, sizes } = requestFor({ a: 1, text, last: "end" });
    const whole = JSON.stringify({ a: 1, text, last: "end" });
    const shown = whole.slice(0, limits.maxExcerptChars);
    const more = whole.length - limits.maxExcerptChars;
    expect(input).toBe(`${shown}… (+${more} characters)`);
    expect(sizes).toContainEqual({ name: "text", chars: text.length });
  });

  it("is exact up to the limit", () => {
    const text = "x".repeat(limits.maxExcerptChars - 2);
    expect(requestFor(text).input).toBe(`"${text}"`);
    expect(requestFor(`${text}y`).input).toBe(`"${text}y… (+1 characters)`);
  });

  it("is the start of long lists and of many keys", slow, () => {
    const list = Array.from({ length: 100_000 }, (_, index) => index);
    for (const long of [list, Object.fromEntries(list.map((at) => [`k${at}`, at]))] as Json[]) {
      const { input } = requestFor(long);
      const whole = JSON.stringify(long);
      expect(input.startsWith(whole.slice(0, limits.maxExcerptChars))).toBe(true);
      expect(input).toContain(`… (+${whole.length - limits.maxExcerptChars} characters)`);
    }
  });

  it("names bytes instead of showing them", () => {
    // The value of a reference to bytes.
    const photo = new Uint8Array([1, 2]) as unknown as Json;
    expect(requestFor({ photo }).input).toContain('{"photo":"[bytes]"}');
  });
});

describe("characters that a person would not see, or would see elsewhere,", () => {
  it.each([
    ["a right-to-left override", "\u202E", "\\u{202e}"],
    ["an isolate", "\u2066", "\\u{2066}"],
    ["a zero-width space", "\u200B", "\\u{200b}"],
    ["a tag, which only models read", "\u{E0041}", "\\u{e0041}"],
    ["a line separator", "\u2028", "\\u{2028}"],
    ["a control sequence of terminals", "\u009B31m", "\\u{9b}31m"],
    ["a Hangul filler", "\u3164", "\\u{3164}"],
  ])("are written as escapes: %s", (_, hidden, shown) => {
    expect(requestFor({ to: `ada${hidden}bob` }).input).toBe(`{"to":"ada${shown}bob"}`);
  });

  it("are not what joins letters and emoji", () => {
    const value = { text: "👩‍👩‍👧 می‌خواهم ❤️\n\té" };
    expect(requestFor(value).input).toBe(JSON.stringify(value));
  });
});
