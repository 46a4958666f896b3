import { describe, expect, it } from "vitest";
import type { VariableInfo } from "../../src/store/variable.ts";
import { tryPaths } from "../../src/tool/tool-output.ts";
import { countOf, type Json, typeOfJson } from "../../src/value/json.ts";
import { formatPath } from "../../src/value/path.ts";
import { shapeOf } from "../../src/value/shape.ts";

type About = Pick<VariableInfo, "type" | "count" | "shape">;

/** Each path as it is written, with its type if it has one. */
function written(about: About): readonly string[] {
  return tryPaths(about).map(
    ({ path, type }) => `${formatPath(path)}${type === undefined ? "" : `: ${type}`}`,
  );
}

const pathsOf = (value: Json) =>
  written({ type: typeOfJson(value), count: countOf(value), shape: shapeOf(value) });
const pathsIn = (shape: string, { type = "array", count = 9 }: Partial<About> = {}) =>
  written({ type, count, shape });

describe("the paths of a value", () => {
  it.each<[string, Json, readonly string[]]>([
    ["an empty list", [], []],
    ["a list of numbers", [1, 2], ["[0]: number", "[:10]"]],
    ["a text", "abc", ["[:500]"]],
    ["a number", 7, []],
    ["an empty object", {}, []],
    [
      "an object of anything",
      { a: 1, b: "x", c: true },
      [".a: number", ".b: string", ".c: boolean"],
    ],
    ["an object with a list", { a: [7, 8] }, [".a[0]: number"]],
    ["an object with records", { a: [{ b: 1 }] }, [".a[0]: object"]],
    [
      "keys that need quotes, last",
      { "a b": 1, c: 2, "d e": 3 },
      [".c: number", '["a b"]: number', '["d e"]: number'],
    ],
  ])("of %s", (_, value, paths) => {
    expect(pathsOf(value)).toEqual(paths);
  });

  it("do not contain keys that no reference can contain", () => {
    const [long, longer] = ["k".repeat(64), "k".repeat(65)];
    const value = { [longer]: 1, "a\nb": 2, "a\rb": 3, [long]: 4 };
    expect(pathsOf(value)).toEqual([`.${long}: number`]);
    expect(pathsOf([value])).toEqual([`[*].${long}: number[]`, "[:10]"]);
  });
});

describe("the paths of a shape", () => {
  it.each<[string, readonly string[]]>([
    ["number[]", ["[0]: number", "[:10]"]],
    ["({a: number} | null)[]", ["[0]: object | null", "[:10]"]],
    ["{a: number}", ["[0]", "[:10]"]],
    ["{a: number}[]", ["[*].a: number[]", "[:10]"]],
    ["{a?: number, b: string}[]", ["[*].b: string[]", "[:10]"]],
    ["{a: number | string}[]", ["[*].a: (number | string)[]", "[:10]"]],
    ["{a: {b: number}}[]", ["[*].a: object[]", "[:10]"]],
    ["{a: unknown[]}[]", ["[*].a", "[:10]"]],
    ['{"a b": number, c: string}[]', ["[*].c: string[]", '[*]["a b"]: number[]', "[:10]"]],
  ])("of the shape %s", (shape, paths) => {
    expect(pathsIn(shape)).toEqual(paths);
  });

  it("depend on its type, and whether there is anything", () => {
    const shape = "{a: number}[]";
    expect(pathsIn(shape, { count: 0 })).toEqual([]);
    expect(pathsIn("string", { type: "string" })).toEqual(["[:500]"]);
    expect(pathsIn("string", { type: "string", count: 0 })).toEqual([]);
    expect(pathsIn("{a: number}", { type: "object" })).toEqual([".a: number"]);
    expect(pathsIn("bytes", { type: "bytes" })).toEqual([]);
  });
});
