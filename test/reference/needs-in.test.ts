import { describe, expect, it } from "vitest";
import { type Need, needsIn } from "../../src/reference/needs-in.ts";

const reference = (name: string) => ({ name, path: [] });

function need(at: string, source: string, name: string): Need {
  return { at, source, operator: "all", references: [reference(name)] };
}

describe("the references in a value", () => {
  it("are those of all of its strings, in the order in which they are written", () => {
    const value = { a: "$x", b: ["no", { c: "${y} and $z" }], d: 1, e: null, f: "$w" };
    expect(needsIn(value)).toEqual([
      need("a", "$x", "x"),
      need("b.1.c", "${y}", "y"),
      need("b.1.c", "$z", "z"),
      need("f", "$w", "w"),
    ]);
  });

  it("of one string stand nowhere in particular", () => {
    expect(needsIn("$x")).toEqual([need("", "$x", "x")]);
    expect(needsIn(["$x"])).toEqual([need("0", "$x", "x")]);
  });

  it("have their paths, whole and embedded", () => {
    const references = [{ name: "x", path: [{ key: "a" }, { index: 0 }] }];
    expect(needsIn("$x.a[0]")).toMatchObject([{ source: "$x.a[0]", references }]);
    expect(needsIn("a $x.a[0].")).toMatchObject([{ source: "$x.a[0]", references }]);
  });

  it("are looked for in code, and not where they are escaped or in keys", () => {
    expect(needsIn({ $k: "`$x` \\$y $z" })).toEqual([need("$k", "$x", "x"), need("$k", "$z", "z")]);
    expect(needsIn("$5 and $")).toEqual([]);
  });

  it("are of the syntaxes that are asked for", () => {
    const value = "$x †y {{z}}";
    expect(needsIn(value).map(({ source }) => source)).toEqual(["$x"]);
    const sources = needsIn(value, ["mustache", "dagger"]).map(({ source }) => source);
    expect(sources).toEqual(["†y", "{{z}}"]);
    expect(needsIn("{{z}}", ["dollar", "mustache"])).toEqual([need("", "{{z}}", "z")]);
  });

  it("are alternatives where one of them is enough, or all are needed", () => {
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
});
