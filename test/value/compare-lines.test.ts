import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineDiff, lineSegments } from "../../src/value/line-diff.ts";

function unified(before: string, after: string, maxLines = Infinity) {
  const diff = new LineDiff(maxLines);
  for (const segment of lineSegments(before, after)) diff.add(segment);
  return diff.end();
}

/** Texts made of a few different lines, so that two texts share many. */
const lines = fc.array(fc.constantFrom("a", "b", "c", "{", "}", "", "long line"), {
  maxLength: 40,
});
const text = fc
  .tuple(lines, fc.boolean())
  .map(([list, isEnded]) => list.join("\n") + (isEnded ? "\n" : ""));

describe("lineSegments", () => {
  it("shows changed lines with the lines around them", () => {
    const page = Array.from({ length: 12 }, (_, index) => `line ${index}\n`);
    const after = page.with(5, "new\n").toSpliced(6, 0, "more\n").join("");
    expect(unified(page.join(""), after).diff).toBe(
      "@@ -3,7 +3,8 @@\n line 2\n line 3\n line 4\n-line 5\n+new\n+more\n line 6\n line 7\n line 8\n",
    );
    expect(unified(after, after)).toEqual({ diff: "" });
  });

  it("shortens a long line around its change", () => {
    const [start, end] = ["x".repeat(5_000), "y".repeat(5_000)];
    const { diff } = unified(`${start}EUR 19${end}`, `${start}EUR 21${end}`);
    expect(diff).toContain("EUR 19");
    expect(diff).toContain("EUR 21");
    expect(diff.length).toBeLessThan(600);
  });

  it("contain the whole text before and after the change", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const segments = [...lineSegments(before, after)];
        const without = (kind: string) =>
          segments.flatMap((one) => (one.kind === kind ? [] : [one.text])).join("");
        expect([without("added"), without("removed")]).toEqual([before, after]);
      }),
      { numRuns: 500 },
    );
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
