import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";

const root = join(import.meta.dirname, "../..");

/** Larger units in which a guide may give a limit. */
const BYTES = [2 ** 30, 2 ** 20, 2 ** 10];
const MILLISECONDS = [86_400_000, 3_600_000, 60_000, 1_000];

/** Returns the number in every form that a guide may use, without its unit. */
function formsOf(name: string, value: number): readonly string[] {
  const units = name.endsWith("Bytes") ? BYTES : name.endsWith("Ms") ? MILLISECONDS : [];
  const counts = units.map((unit) => value / unit).filter(Number.isInteger);
  return [value, ...counts].map((count) => count.toLocaleString("en-US"));
}

it("guides that name a limit in parentheses give its value in the same line", () => {
  const lines = globSync("docs/guides/*.md", { cwd: root }).flatMap((path) =>
    readFileSync(join(root, path), "utf8").split("\n"),
  );
  const named = lines.flatMap((line) =>
    Array.from(line.matchAll(/\(`(max\w+|\w+Ms)`\)/g), ([, name = ""]) => ({ name, line })),
  );
  const known = new Map<string, unknown>(Object.entries(limits));
  const wrong = named.filter(({ name, line }) => {
    const value = known.get(name);
    const numbers = new Set(Array.from(line.matchAll(/\d+(?:,\d{3})*/g), ([number]) => number));
    const forms = typeof value === "number" ? formsOf(name, value) : [];
    return !forms.some((form) => numbers.has(form));
  });
  expect(wrong.map(({ name, line }) => `${name}: ${line}`)).toEqual([]);
  expect(named.length).toBeGreaterThan(20);
});
