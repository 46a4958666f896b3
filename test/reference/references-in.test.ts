import { describe, expect, it } from "vitest";
import { type Lookup, lookupIn, type Missing, referencesIn } from "../../src/references.ts";

const values = { x: { a: [1, 2] }, name: "n", s: "secret", gone: 0 };

/** Creates a lookup that knows some names and records the requested ones. */
function noting(asked: string[] = []): Lookup {
  const open = lookupIn(values);
  const missing = new Map<string, Missing["reason"]>([
    ["s", "secret"],
    ["gone", "evicted"],
  ]);
  return async (reference, work) => {
    asked.push(reference.name);
    const reason = missing.get(reference.name);
    return reason === undefined ? open(reference, work) : { found: false, reason };
  };
}

async function sourcesIn(text: string, ...options: readonly object[]): Promise<readonly string[]> {
  const found = await referencesIn(text, noting(), ...options);
  return found.map(({ source }) => source);
}

describe("the references in a text", () => {
  it("have their source, name and path, in order", async () => {
    expect(await referencesIn("The $x.a[-1] of ${name} and $x.", noting())).toEqual([
      { source: "$x.a[-1]", name: "x", path: [{ key: "a" }, { index: -1 }] },
      { source: "${name}", name: "name", path: [] },
      { source: "$x", name: "x", path: [] },
    ]);
    expect(await referencesIn("$name", noting())).toEqual([
      { source: "$name", name: "name", path: [] },
    ]);
    expect(await referencesIn("", noting())).toEqual([]);
  });

  it("can be inside the path of an unknown name", async () => {
    expect(await sourcesIn("$nobody['$name']")).toEqual(["$name"]);
    expect(await sourcesIn("$x['$name']")).toEqual(["$x['$name']"]);
  });

  it("are not escaped, and not in code if code is skipped", async () => {
    expect(await sourcesIn("\\$x $name")).toEqual(["$name"]);
    expect(await sourcesIn("`$x` $name")).toEqual(["$x", "$name"]);
    expect(await sourcesIn("`$x` $name", { inCode: false })).toEqual(["$name"]);
  });

  it("are found in the requested syntaxes only", async () => {
    const text = "$x {{ x.a }} †name || †s";
    expect(await sourcesIn(text)).toEqual(["$x"]);
    expect(await sourcesIn(text, { syntaxes: ["mustache", "dagger"] })).toEqual([
      "{{ x.a }}",
      "†name",
      "†s",
    ]);
    const target = { syntaxes: ["target"] };
    expect(await sourcesIn("variable:x.a", target)).toEqual(["variable:x.a"]);
    expect(await sourcesIn("variable:nobody", target)).toEqual([]);
    expect(await sourcesIn("see variable:x.a", target)).toEqual([]);
  });

  it("cost one lookup per name, and none for plain text", async () => {
    const asked: string[] = [];
    const text = "$x $nobody $x.a ".repeat(4_000);
    expect(await referencesIn(text, noting(asked))).toHaveLength(8_000);
    expect(asked).toEqual(["x", "nobody"]);
    await referencesIn("plain text, $5", noting(asked));
    expect(asked).toHaveLength(2);
  });
});
