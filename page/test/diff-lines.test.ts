import { expect, it } from "vitest";
import { changedLines } from "../src/diff-lines.tsx";

const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `line ${from + at}`);

it.each<[string, string[], string[], string[]]>([
  ["a changed line", ["a", "b", "c"], ["a", "x", "c"], ["@@ line 2 @@", "-b", "+x"]],
  ["a line that repeats", ["a", "a"], ["a", "a", "a"], ["@@ line 3 @@", "+a"]],
  ["a removed end", ["a", "b"], ["a"], ["@@ line 2 @@", "-b"]],
  ["nothing in common", ["a"], ["b"], ["@@ line 1 @@", "-a", "+b"]],
  [
    "the start of many",
    ["a", ...lines(0, 70)],
    ["a"],
    ["@@ line 2 @@", ...lines(0, 60).map((one) => `-${one}`), "-… 10 more"],
  ],
])("the changed lines are those of %s", (_what, before, after, expected) => {
  expect(changedLines(before.join("\n"), after.join("\n"))).toEqual(expected);
});
