import { describe, expect, it } from "vitest";
import { type Need, referencesIn } from "../../src/reference/references-in.ts";

const reference = (name: string) => ({ name, path: [] });

function need(at: string, source: string, name: string): Need {
  return { at, source, operator: "all", references: [reference(name)] };
}

describe("the references in a value", () => {
  it("are those of all of its strings, in the order in which they are written", () => {
    const value = { a: "$x", b: ["no", { c: "${y} and $z" }], d: 1, e: null, f: "$w" };
    expect(referencesIn(value)).toEqual([
      need("a", "$x", "x"),
      need("b.1.c", "${y}", "y"),
      need("b.1.c", "$z", "z"),
      need("f", "$w", "w"),
    ]);
  });

  it("of one string stand nowhere in particular", () => {
    expect(referencesIn("$x")).toEqual([need("", "$x", "x")]);
    expect(referencesIn(["$x"])).toEqual([need("0", "$x", "x")]);
  });

  it("have their paths, whole and embedded", () => {
    const references = [{ name: "x", path: [{ key: "a" }, { index: 0 }] }];
    expect(referencesIn("$x.a[0]")).toMatchObject([{ source: "$x.a[0]", references }]);
    expect(referencesIn("a $x.a[0].")).toMatchObject([{ source: "$x.a[0]", references }]);
  });

  it("are looked for in code, and not where they are escaped or in keys", () => {
    expect(referencesIn({ $k: "`$x` \\$y $z" })).toEqual([
      need("$k", "$x", "x"),
      need("$k", "$z", "z"),
    ]);
    expect(referencesIn("$5 and $")).toEqual([]);
  });

  it("are of the syntaxes that are asked for", () => {
    const value = "$x †y {{z}}";
    expect(referencesIn(value).map(({ source }) => source)).toEqual(["$x"]);
    const sources = referencesIn(value, ["mustache", "dagger"]).map(({ source }) => source);
    expect(sources).toEqual(["†y", "{{z}}"]);
    expect(referencesIn("{{z}}", ["dollar", "mustache"])).toEqual([need("", "{{z}}", "z")]);
  });

  it("are alternatives where one of them is enough, or all are needed", () => {
    const references = [reference("x"), reference("y")];
    for (const [source, operator] of [
      ["†x || †y", "first"],
      ["†x && †y", "all"],
    ] as const) {
      expect(referencesIn({ a: source }, ["dollar", "dagger"])).toEqual([
        { at: "a", source, operator, references },
      ]);
    }
    expect(referencesIn("†x || †y && †z", ["dagger"])).toEqual([]);
  });
});
