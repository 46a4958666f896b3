import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  expandOracle,
  resolveOracle,
  type ExpandOptions,
  type Json,
  type ResolveOptions,
  type Variables,
} from "./reference-oracle.ts";

type AnswerCase = { name: string; text: string; expect: string; options?: ExpandOptions };
type InputCase = { name: string; input: Json; options?: ResolveOptions } & (
  | { expect: Json }
  | { error: { code: string } }
);
type Cases<Case> = { variables: Variables; cases: Case[] };

function readCases<Case>(file: string): Cases<Case> {
  return JSON.parse(readFileSync(`${import.meta.dirname}/../cases/${file}`, "utf8"));
}

const answers = readCases<AnswerCase>("answers.json");
const inputs = readCases<InputCase>("inputs.json");

describe("the oracle follows the specification for answers", () => {
  test.each(answers.cases)("$name", (one) => {
    expect(expandOracle(one.text, answers.variables, one.options)).toBe(one.expect);
  });
});

describe("the oracle follows the specification for tool inputs", () => {
  test.each(inputs.cases)("$name", (one) => {
    const expected = "error" in one ? { error: one.error.code } : { value: one.expect };
    expect(resolveOracle(one.input, inputs.variables, one.options)).toEqual(expected);
  });
});

/** Cases that the specification leaves open, as decided: [text, expected, syntaxes]. */
const decisions: [string, string, ExpandOptions["syntaxes"]?][] = [
  ["{{{x}}}", "{1}", ["mustache"]],
  ["a{{x}} a†x a$x", "a1 a1 a$x", ["dollar", "mustache", "dagger"]],
  ["a\\†x", "a†x", ["dagger"]],
  ["\\$x$", "\\$x$"],
  ["\\$ids[9]", "\\$ids[9]"],
  ["$\\$x", "$\\$x"],
  ["`\\$x`", "`\\$x`"],
  ["$ids[0]$x", "$ids[0]1"],
  ["${x}$temp", "15"],
  ["$ids[01]", '["u1","u2","u3"][01]'],
  ["$emoji[0]", "$emoji[0]"],
  ['$ids["0"]', '$ids["0"]'],
  ["//e\u00a0$x //e\f$x //e\t$x", "//e\u00a0$x //e\f$x //e\t1"],
  ["](\\)$x)$x", "](\\)$x)1"],
  ["](\\()$x", "](\\()1"],
  ["]( <)$x> $x) $x", "]( <)$x> 1) 1"],
  ["](<)\n)$x", "](<)\n)1"],
  ["](a\r\n$x\r\n\r\n$x", "](a\r\n$x\r\n\r\n1"],
  ["a [a]: $x\n    [a]: $x", "a [a]: 1\n    [a]: $x"],
  ["[a\\]: $x\n[a\\]b]: $x\n[]: $x", "[a\\]: 1\n[a\\]b]: $x\n[]: $x"],
  ["```\n``` \n$x", "```\n``` \n1"],
  [" $none\n", " \n```json\n[]\n```\n\n"],
  ["\t$none", "\t[]"],
  ["$none ", "[] "],
  [`$odd['${"k".repeat(499)}`, JSON.stringify(answers.variables["odd"]) + `['${"k".repeat(499)}`],
  [`$odd['${"k".repeat(506)}`, `$odd['${"k".repeat(506)}`],
  [`\${odd['${"k".repeat(502)}']}$x`, `\${odd['${"k".repeat(502)}']}1`],
];

describe("the oracle follows decisions beyond the specification", () => {
  test.each(decisions)("%j", (text, expected, syntaxes) => {
    const options = syntaxes === undefined ? {} : { syntaxes };
    expect(expandOracle(text, answers.variables, options)).toBe(expected);
  });

  test("an identifier of more than 64 characters is not a name", () => {
    const [longest, tooLong] = ["n".repeat(64), "n".repeat(65)];
    const variables = { [longest]: 1, [tooLong]: 2 };
    expect(expandOracle(`$${longest} $${tooLong}`, variables)).toBe(`1 $${tooLong}`);
  });

  test("a table reports hidden rows and columns in one line", () => {
    const row = Object.fromEntries(Array.from({ length: 14 }, (_, column) => [`c${column}`, 0]));
    const variables = { wide: Array.from({ length: 51 }, () => row) };
    const output = expandOracle("{{ wide }}", variables, { syntaxes: ["mustache"] });
    expect(output.split("\n").at(-1)).toBe("… 1 more row and 2 more columns in {{ wide }}");
  });
});
