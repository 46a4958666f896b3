import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/dependencies.md", "utf8");
type Packages = Readonly<Record<string, string>>;
const { dependencies, devDependencies, peerDependencies } = JSON.parse(
  readFileSync("package.json", "utf8"),
) as Readonly<Record<"dependencies" | "devDependencies" | "peerDependencies", Packages>>;
const peers = Object.keys(peerDependencies);

test.each([
  ["With every installation", Object.keys(dependencies)],
  ["Of the application", peers],
  ["For development", Object.keys(devDependencies).filter((name) => !peers.includes(name))],
])("the table '%s' has a row for each package and no others", (title, packages) => {
  expect(rowsOf(title).map(([name = ""]) => name.replaceAll("`", ""))).toEqual(packages.toSorted());
});

test("no cell is empty, and each size has a unit", () => {
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  for (const row of rows) {
    const cells = cellsOf(row);
    expect(cells).toHaveLength(5);
    expect(cells.filter((cell) => cell === "")).toEqual([]);
    expect(cells[2]).toMatch(/^[\d,.]+ [KM]iB$|^not installed here$/);
  }
});

function rowsOf(title: string): readonly (readonly string[])[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map(cellsOf);
}

function cellsOf(row: string): readonly string[] {
  return row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}
