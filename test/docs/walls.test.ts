import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const page = readFileSync("docs/decisions/0029-walls-and-sentences.md", "utf8");
const [, , ...lines] = page.split("\n").filter((line) => line.startsWith("|"));

test("each place has a claim, what enforces it, what is left without it, and a test that exists", () => {
  const wrong = lines.filter((line) => {
    const cells = line.slice(1, -1).split(" | ");
    const [, title = "", path = ""] = /\[([^\]]+)\]\(([^)]+)\) \|$/u.exec(line) ?? [];
    const file = join("docs/decisions", path);
    const isThere = existsSync(file) && readFileSync(file, "utf8").includes(`"${title}"`);
    return cells.length !== 5 || path === "" || !isThere;
  });
  expect(wrong).toEqual([]);
  expect(lines.length).toBeGreaterThan(25);
});
