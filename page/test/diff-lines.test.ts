import { expect, it } from "vitest";
import { changedLines } from "../src/diff-lines.tsx";

it.each<[string, string[], string[], string[]]>([
  ["a changed line", ["a", "b", "c"], ["a", "x", "c"], ["@@ line 2 @@", "-b", "+x"]],
  ["a line that repeats", ["a", "a"], ["a", "a", "a"], ["@@ line 3 @@", "+a"]],
  ["a removed end", ["a", "b"], ["a"], ["@@ line 2 @@", "-b"]],
  ["nothing in common", ["a"], ["b"], ["@@ line 1 @@", "-a", "+b"]],
])("the changed lines are those of %s", (_what, before, after, expected) => {
  expect(changedLines(before.join("\n"), after.join("\n"))).toEqual(expected);
});
