import { describe, expect, it } from "vitest";
import { slow } from "../support/slow.ts";
import { type Need, needsIn } from "../../src/reference/references-in.ts";

const reference = (name: string) => ({ name, path: [] });

function need(at: string, source: string, name: string): Need {
  return { at, source, operator: "all", references: [reference(name)] };
}

describe("the references in a value", () => {
  it("come from all of its strings, in order", () => {
    const value = { a: "$x", b: ["no", { c: "${y} and $z" }], d: 1, e: null, f: "$w" };
    expect(needsIn(value)).toEqual([
      need("a", "$x", "x"),
      need("b.1.c", "${y}", "y"),
      need("b.1.c", "$z", "z"),
      need("f", "$w", "w"),
    ]);
  });

  it("are found in code, but not in keys or after a backslash", () => {
    expect(needsIn({ $k: "`$x` \\$y $z" })).toEqual([need("$k", "$x", "x"), need("$k", "$z", "z")]);
    expect(needsIn("$5 and $")).toEqual([]);
  });

  it("are found in the requested syntaxes only", () => {
    const value = "$x †y {{z}}";
    expect(needsIn(value)).toEqual([need("", "$x", "x")]);
    expect(needsIn("{{z}}", ["dollar", "mustache"])).toEqual([need("", "{{z}}", "z")]);
  });

  it("can be alternatives of which one or all are needed", () => {
    const references = [reference("x"), reference("y")];
    for (const [source, operator] of [
      ["†x || †y", "first"],
      ["†x && †y", "all"],
    ] as const) {
      expect(needsIn({ a: source }, ["dollar", "dagger"])).toEqual([
        { at: "a", source, operator, references },
      ]);
    }
    expect(needsIn("†x || †y && †z", ["dagger"])).toEqual([]);
  });

  it("are found however many values or references there are", slow, () => {
    const numbers = Array.from({ length: 500_000 }, () => 1);
    expect(needsIn({ numbers, last: "$x" })).toEqual([need("last", "$x", "x")]);
    expect(needsIn("$x ".repeat(350_000))).toHaveLength(350_000);
  });
});
