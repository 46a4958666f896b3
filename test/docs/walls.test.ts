import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Returns the rows of a table as cells. The last cell of each is a link with a test's title. */
function rowsOf(table: string): readonly (readonly string[])[] {
  const [, , ...lines] = table.split("\n").filter((line) => line.startsWith("|"));
  return lines.map((line) => line.slice(1, -1).trim().split(" | "));
}

/** True if the link leads to a file with a test of this title. */
function leadsToTest(folder: string, link = ""): boolean {
  const [, title = "", path = ""] = /\[([^\]]+)\]\(([^)]+)\)$/u.exec(link) ?? [];
  const file = join(folder, path);
  return path !== "" && existsSync(file) && readFileSync(file, "utf8").includes(`"${title}"`);
}

const walls = rowsOf(readFileSync("docs/decisions/0029-walls-and-sentences.md", "utf8"));

test("each place has a claim, what enforces it, what is left without it, and a test that exists", () => {
  const wrong = walls.filter(
    (cells) => cells.length !== 5 || !leadsToTest("docs/decisions", cells.at(-1)),
  );
  expect(wrong).toEqual([]);
  expect(walls.length).toBeGreaterThan(25);
});

const security = readFileSync("docs/guides/security.md", "utf8");
const threats = rowsOf(/## The threat model\n[^]*?\n## /.exec(security)?.[0] ?? "");

test("each row of the threat model names a test that exists", () => {
  const wrong = threats.filter(
    (cells) => cells.length !== 4 || !leadsToTest("docs/guides", cells.at(-1)),
  );
  expect(wrong).toEqual([]);
  expect(threats.length).toBeGreaterThan(20);
});

test.each(["Gateway", "SQL", "CSV", "Edits", "Files", "Templates"])("%s has a row", (part) => {
  expect(threats.some(([who = ""]) => who.startsWith(`**${part}:**`))).toBe(true);
});
