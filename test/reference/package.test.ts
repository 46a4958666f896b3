import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import * as references from "../../src/references.ts";

const root = join(import.meta.dirname, "../..");

/** Returns all modules that the file imports, directly or indirectly. */
function modulesFrom(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const imports = readFileSync(file, "utf8").matchAll(/(?:import|export)[^"']*?from "([^"]+)"/g);
  for (const [, specifier = ""] of imports) {
    if (specifier.startsWith(".")) modulesFrom(join(dirname(file), specifier), seen);
    else seen.add(specifier);
  }
  return seen;
}

describe("byref/references", () => {
  it("needs only its own layers: no Cloudflare, model or package", () => {
    const modules = [...modulesFrom(join(root, "src/references.ts"))];
    const places = modules.map((module) => relative(root, module));
    expect(places).toContain("src/reference/scanner.ts");
    const layers = /^src\/(value|reference)\/[a-z0-9-]+\.ts$|^src\/(references|errors|limits)\.ts$/;
    expect(places.filter((place) => !layers.test(place))).toEqual([]);
  });

  it("exports the functions named in the README", () => {
    expect(references.resolveReferences).toBeTypeOf("function");
    expect(references.expandText).toBeTypeOf("function");
    expect(references.lookupIn).toBeTypeOf("function");
  });
});
