import { join } from "node:path";
import { expect, it } from "vitest";
import { boundsOf, figuresIn, headlinesOf, PUBLISHED_TABLES } from "../../bench/markdown.ts";
import { readResults } from "../../bench/results.ts";

const root = join(import.meta.dirname, "../..");
const results = readResults(join(root, "bench/results.json"));

it.each(Object.entries(PUBLISHED_TABLES))("%s has the published figures", (path, textOf) => {
  expect(figuresIn(join(root, path))).toBe(textOf(results));
});

it("the README shows the cost of a prompt within its bounds", () => {
  const lines = headlinesOf(results).split("\n");
  const first = lines.findIndex((line) => line.startsWith("| what a prompt costs |"));
  const rows = lines.slice(first + 2).map((line) => line.split(" | ").at(-1));
  expect(rows).toHaveLength(10);
  expect(rows).not.toContain("null |");
});

it("the guide on costs lists only bounds that are met", () => {
  const names = boundsOf(results)
    .split("\n")
    .slice(2)
    .map((line) => line.slice(2).split(" | ")[0]);
  expect(names).toHaveLength(12);
  const broken = results.rows.filter(({ name, met }) => names.includes(name) && met !== true);
  expect(broken).toEqual([]);
});
