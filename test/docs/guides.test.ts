import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { fencesIn } from "../support/fences.ts";

const root = join(import.meta.dirname, "../..");
const MAX_EXAMPLE_LINES = 15;

/** Lists, and guides that do not describe an optional feature. */
const OTHERS = /^(?:README|compare|costs|glossary|operating|runbook|security|gateway-.*)$/;

const guides = globSync("docs/guides/*.md", { cwd: root })
  .map((path) => basename(path, ".md"))
  .filter((name) => !OTHERS.test(name));

it("feature guides exist", () => {
  expect(guides.length).toBeGreaterThan(15);
});

describe.each(guides)("the guide %s", (name) => {
  const markdown = readFileSync(join(root, `docs/guides/${name}.md`), "utf8");

  it("starts with an example of at most 15 lines", () => {
    const [first] = fencesIn(markdown);
    expect(first?.line).toBeLessThan(20);
    expect(first?.lines.length).toBeLessThanOrEqual(MAX_EXAMPLE_LINES);
  });

  it("says once when not to use the feature", () => {
    expect(markdown.split("**When not to use it.** ")).toHaveLength(2);
  });
});
