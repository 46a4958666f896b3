import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesGlob } from "../src/template/step-prompt.ts";

describe("a file pattern", () => {
  it.each([
    ["notes/a.md", "notes/a.md"],
    ["notes/*.md", "notes/a.md"],
    ["?.md", "😀.md"],
    ["**/*.md", "a.md"],
    ["notes/**", "notes/a/b.md"],
    ["a**b", "axyb"],
    ["[a].md", "[a].md"],
    ["a.md", "a.md"],
  ])("%s matches %s", (pattern, path) => {
    expect(matchesGlob(pattern, path)).toBe(true);
  });

  it.each([
    ["notes/*.md", "notes/a.txt"],
    ["notes/*.md", "notes/deep/a.md"],
    ["a**b", "a/b"],
    ["notes/**", "notes"],
    ["[ab].md", "a.md"],
    ["A.md", "a.md"],
    ["", "a"],
  ])("%s does not match %s", (pattern, path) => {
    expect(matchesGlob(pattern, path)).toBe(false);
  });

  const part = fc.constantFrom("a", "b", "ab", ".", "*", "?", "**", "/", "(", "\\");
  const text = (letters: fc.Arbitrary<string>) =>
    fc.array(letters, { maxLength: 10 }).map((parts) => parts.join(""));

  it("matches what an equivalent regular expression matches", () => {
    const path = text(fc.constantFrom("a", "b", ".", "/", "(", "\\"));
    fc.assert(
      fc.property(text(part), path, (pattern, path) => {
        expect(matchesGlob(pattern, path)).toBe(expressionOf(pattern).test(path));
      }),
      { numRuns: 3_000 },
    );
  });

  it("takes time proportional to its length times the path's, where naive matchers are exponential", () => {
    const stars = "*a".repeat(90);
    expect(matchesGlob(`${stars}b`, "a".repeat(20_000))).toBe(false);
    expect(matchesGlob(`${"**/".repeat(60)}b`, "a/".repeat(10_000))).toBe(false);
    expect(matchesGlob(`${"**/a*".repeat(40)}`, "a/".repeat(10_000))).toBe(false);
  });
});

/** Returns a regular expression with the same meaning, as an independent implementation. */
function expressionOf(pattern: string): RegExp {
  const names = pattern.split("/");
  const written = names.map((name, index) => {
    const isLast = index === names.length - 1;
    if (name === "**") return isLast ? "(?:[^/]*/)*[^/]*" : "(?:[^/]*/)*";
    const marks = [...name].map((mark) => {
      if (mark === "*") return "[^/]*";
      return mark === "?" ? "[^/]" : mark.replace(/[.(\\]/, "\\$&");
    });
    return marks.join("") + (isLast ? "" : "/");
  });
  return new RegExp(`^${written.join("")}$`, "u");
}
