import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Expander, type Unresolved } from "../../src/reference/expand.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { slow } from "../support/slow.ts";

/** Returns the expanded text, and the error codes of the references that stay as written. */
function expand(text: string, lookup: Lookup) {
  const codes: string[] = [];
  const onUnresolved = ({ code }: Unresolved) => void codes.push(code);
  const expander = new Expander(lookup, { onUnresolved });
  let expanded = "";
  const emit = (piece: string) => {
    expanded += piece;
  };
  void expander.write(text, emit);
  void expander.flush(emit);
  return { expanded, codes };
}

it.each([
  ["below", -3, { second: "yz", expected: [] }],
  ["at", -2, { second: "yz", expected: [] }],
  ["above", -1, { second: "$two", expected: ["limit_exceeded"] }],
])(
  "values count together: %s the limit of the expansion (%i)",
  slow,
  (_where, distance, { second, expected }) => {
    const value = "x".repeat(limits.maxInsertedChars + distance);
    const lookup: Lookup = ({ name }) => ({ found: true, value: name === "big" ? value : "yz" });
    const { expanded, codes } = expand("$big $two.", lookup);
    expect(expanded === `${value} ${second}.`).toBe(true);
    expect(codes).toEqual(expected);
  },
);

it("a single value above the limit stays as written", () => {
  const value = "x".repeat(limits.maxInsertedChars + 1);
  const { expanded, codes } = expand("a $big.", () => ({ found: true, value }));
  expect(expanded).toBe("a $big.");
  expect(codes).toEqual(["limit_exceeded"]);
});
