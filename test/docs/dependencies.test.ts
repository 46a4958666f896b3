import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Packages = Readonly<Record<string, string>>;
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync("package.json", "utf8"),
) as Readonly<Record<"dependencies" | "peerDependencies", Packages>>;

const rows = readFileSync("docs/dependencies.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((row) => row.split("|").slice(1, -1))
  .map((cells) => cells.map((cell) => cell.trim()));

test.each([
  ["always", dependencies],
  ["by the application", peerDependencies],
])("the table has a row for each package installed %s, and no others", (installed, packages) => {
  const names = rows.filter((row) => row[1] === installed).map(([name = ""]) => name);
  expect(names).toEqual(
    Object.keys(packages)
      .toSorted()
      .map((name) => `\`${name}\``),
  );
});

test("no cell is empty", () => {
  expect(rows.length).toBe(Object.keys({ ...dependencies, ...peerDependencies }).length);
  for (const cells of rows) expect(cells.every((cell) => cell !== "")).toBe(true);
});
