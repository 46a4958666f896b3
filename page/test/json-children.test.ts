import { describe, expect, it } from "vitest";
import { formatPath } from "../../src/references.ts";
import { childrenOf, summaryOf } from "../src/variables/json-tree.tsx";
import { fileName, isShownImage } from "../src/variables/words.ts";

describe("the children of a value", () => {
  it("are limited, and have the same paths as references", () => {
    const { entries, count } = childrenOf([5, 6, 7], 2);
    expect(count).toBe(3);
    expect(entries.map(({ segment }) => formatPath([segment]))).toEqual(["[0]", "[1]"]);
    const keys = childrenOf({ id: 1, "any key": 2 }, 9).entries;
    expect(keys.map(({ segment }) => formatPath([segment]))).toEqual([".id", '["any key"]']);
  });
});

describe("the summary of a closed branch", () => {
  it("is their number, or how the value begins", () => {
    expect(summaryOf([1])).toBe("1 element");
    expect(summaryOf({ id: "a", rows: [1, 2] })).toBe('id: "a", rows');
    expect(summaryOf({})).toBe("no keys");
    expect(summaryOf({ a: 1, b: 2, c: 3, d: 4, e: 5 })).toBe("a: 1, b: 2, c: 3, d: 4…");
    expect(summaryOf({ text: "x".repeat(500) }).length).toBe(61);
  });
});

describe("a download", () => {
  it.each([
    ["application/x-ndjson", "v.json"],
    ["text/plain; charset=utf-8", "v.txt"],
    ["text/csv;delimiter=semicolon", "v.csv"],
    ["image/JPEG", "v.jpg"],
    ["nonsense/", "v.bin"],
  ])("of %s is named %s", (mediaType, name) => {
    expect(fileName({ name: "v", mediaType })).toBe(name);
  });

  it("is shown as an image only for safe types", () => {
    expect(isShownImage("image/png; x=1")).toBe(true);
    expect(isShownImage("image/svg+xml")).toBe(false);
  });
});
