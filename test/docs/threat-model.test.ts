import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const page = readFileSync("docs/guides/security.md", "utf8");
const [section = ""] = /## The threat model\n[^]*?\n## /.exec(page) ?? [];
/** `| who | what they try | what stops it | [title](file) |` */
const rows = [...section.matchAll(/^\| .+ \| .+ \| .+ \| \[(.+)\]\((.+)\) \|$/gm)].map(
  ([row, title = "", file = ""]) => ({ row, title, path: join("docs/guides", file) }),
);

test("each row of the threat model names a test that exists", () => {
  const missing = rows.filter(
    ({ title, path }) => !existsSync(path) || !readFileSync(path, "utf8").includes(`"${title}"`),
  );
  expect(missing).toEqual([]);
  expect(rows.length).toBeGreaterThan(20);
});

test("every line of the table is a row", () => {
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  expect(lines).toHaveLength(rows.length + 2);
});

test.each(["Gateway", "SQL", "CSV", "Edits", "Files", "Templates"])("%s has a row", (part) => {
  expect(rows.some(({ row }) => row.startsWith(`| **${part}:**`))).toBe(true);
});
