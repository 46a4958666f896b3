import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Json } from "../../src/value/json.ts";
import { requireFewContainers, requireJson } from "../../src/value/require-json.ts";
import { parseJson } from "../../src/edge/http/read-body.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { slow } from "../support/slow.ts";

function nested(levels: number): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

const withCode = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

describe("a value to be saved", () => {
  it("can have the maximum number of levels, but no more", () => {
    for (const levels of [limits.maxDepth - 1, limits.maxDepth]) {
      expect(() => requireJson(nested(levels))).not.toThrow();
    }
    const sizes = { limit: "maxDepth", maximum: limits.maxDepth, actual: limits.maxDepth + 1 };
    expect(() => requireJson(nested(limits.maxDepth + 1))).toThrow(
      withCode("limit_exceeded", sizes),
    );
    expect(() => requireJson(nested(100_000))).toThrow(withCode("limit_exceeded"));
  });

  it("can have the maximum number of arrays and objects, but no more", slow, () => {
    const arrays = (count: number): Json => Array.from({ length: count - 1 }, () => []);
    expect(() => requireJson(arrays(limits.maxContainers))).not.toThrow();
    const refused = withCode("limit_exceeded", { limit: "maxContainers" });
    expect(() => requireJson(arrays(limits.maxContainers + 1))).toThrow(refused);
    // In its text, where brackets in strings are none.
    const text = (last: string) =>
      `["[[{", "\\"[",${"{},".repeat(limits.maxContainers - 2)}${last}]`;
    expect(() => requireFewContainers(text("[]"))).not.toThrow();
    expect(() => requireFewContainers(text("[[]]"))).toThrow(refused);
  });

  it.each([[Infinity], [[-Infinity]], [{ a: [Number.NaN] }]])(
    "cannot contain an infinite number or NaN: %o",
    (value) => expect(() => requireJson(value as Json)).toThrow(withCode("bad_value")),
  );
});

it("a text with too many arrays and objects is refused before it is parsed, in a body, a value and a record", async () => {
  // The text is not JSON, which only a parser would find.
  const text = "[{}".repeat(1 + limits.maxContainers / 2);
  const refused = { code: "limit_exceeded", details: { limit: "maxContainers" } };
  expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
  for (const type of ["application/json", "application/x-ndjson"]) {
    const body = new Blob([`${text}\n`]).stream();
    await expect(new MemoryStore().receive(body, type)).rejects.toMatchObject(refused);
  }
});
