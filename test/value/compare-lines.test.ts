import { applyPatch } from "diff";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffOf, LineDiff } from "../../src/value/line-diff.ts";

const unified = (before: string, after: string, maxLines = Infinity) =>
  diffOf(before, after, maxLines);

/** Texts made of a few different lines, so that two texts share many. */
const lines = fc.array(fc.constantFrom("a", "b", "c", "{", "}", "", "long line"), {
  maxLength: 40,
});
const text = fc
  .tuple(lines, fc.boolean())
  .map(([list, isEnded]) => list.join("\n") + (isEnded ? "\n" : ""));

describe("a diff of two texts", () => {
  it("shows changed lines with the lines around them", () => {
    const page = Array.from({ length: 12 }, (_, index) => `line ${index}\n`);
    const after = page.with(5, "new\n").toSpliced(6, 0, "more\n").join("");
    expect(unified(page.join(""), after).diff).toBe(
      "@@ -3,7 +3,8 @@\n line 2\n line 3\n line 4\n-line 5\n+new\n+more\n line 6\n line 7\n line 8\n",
    );
    expect(unified(after, after)).toEqual({ diff: "" });
    expect(unified("", "a\n")).toEqual({ diff: "@@ -0,0 +1 @@\n+a\n" });
    // kpdecker/jsdiff#387
    const unended = "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n";
    expect(unified("", "a")).toEqual({ diff: unended });
  });

  it("shortens a long line around its change", () => {
    const [start, end] = ["x".repeat(5_000), "y".repeat(5_000)];
    const { diff } = unified(`${start}EUR 19${end}`, `${start}EUR 21${end}`);
    expect(diff).toContain("EUR 19");
    expect(diff).toContain("EUR 21");
    expect(diff.length).toBeLessThan(600);
  });

  it("makes patches that another implementation applies", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        // The diff cannot express a missing line break at the end.
        const [old, made] = [`${before}\n`, `${after}\n`];
        const { diff } = unified(old, made);
        expect(applyPatch(old, `--- a\n+++ b\n${diff}`)).toBe(made);
      }),
      { numRuns: 500 },
    );
  });

  it("is the same wherever the texts are cut", () => {
    fc.assert(
      fc.property(text, text, fc.nat(80), fc.nat(80), (before, after, one, other) => {
        const diff = new LineDiff(Infinity);
        diff.add(before.slice(0, one), after.slice(0, other));
        diff.add(before.slice(one), after.slice(other));
        expect(diff.end()).toEqual(unified(before, after));
      }),
    );
  });

  it("finds the lines after a large insertion, and changes far apart", () => {
    const old = numbered(300_000);
    const inserted = old.replace("line 1000\n", `line 1000\n${"new\n".repeat(2_000)}`);
    const after = inserted.replace("line 290000\n", "other\n");
    const { diff, more } = unified(old, after, 60);
    expect(diff).toContain(" line 1000\n+new\n");
    expect(diff).not.toContain("\n-");
    const all = unified(old, after);
    expect(all.diff).toContain("@@ -289998,7 +291998,7 @@");
    expect(more).toBe(all.diff.split("\n").length - 1 - 60);
  });

  it("shows each of many changed lines beside the repeated ones between them", () => {
    const before = numbered(20_000).replaceAll("\n", "\nsame\n");
    const { diff } = unified(before, before.replaceAll("line", "row"), 60);
    expect(diff).toContain("-line 0\n+row 0\n same\n-line 1\n+row 1\n same\n");
  });

  it.each([
    ["nothing in common", "a\n".repeat(200_000), "b\n".repeat(200_000)],
    ["the same lines in another order", numbered(30_000), numbered(30_000, 7_919)],
    ["two alternating lines", "a\nb\n".repeat(40_000), "b\na\n".repeat(40_000)],
    ["one long line", "ab".repeat(1_000_000), "ba".repeat(1_000_000)],
  ])("takes bounded work: %s", (_, before, after) => {
    const { diff, more = 0 } = unified(before, after, 60);
    expect(diff.split("\n").length).toBeLessThanOrEqual(61);
    expect(diff).toContain("\n-");
    expect(more).toBeGreaterThanOrEqual(0);
  });
});

function numbered(count: number, step = 1): string {
  return Array.from({ length: count }, (_, index) => `line ${(index * step) % count}\n`).join("");
}
