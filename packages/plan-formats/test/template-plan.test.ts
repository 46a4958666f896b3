import { planFromTemplate, PROMPT_TOOL, templateFindings } from "../src/template/templates.ts";
import { planOf } from "./template-run.ts";
import { describe, expect, it } from "vitest";

const findingsOf = (text: string) => planFromTemplate(text).findings;

it("a template as a plan has its steps in order, in which nothing is a reference", () => {
  const plan = planOf("# Daily\n\n## Read\nRead $x, {{y}}.\n## Write\nWrite †state.z.");
  expect(plan).toMatchObject({ name: "Daily", format: "template", order: "written" });
  expect(plan.syntaxes).toEqual([]);
  expect(plan.calls.map(({ id, tool }) => [id, tool])).toEqual([
    ["read", PROMPT_TOOL],
    ["write", PROMPT_TOOL],
  ]);
  expect(plan.calls[0]?.parameters).toMatchObject({ prompt: "Read $x, {{y}}.\n", line: 3 });
});

describe("an output that two steps write in different ways is a finding", () => {
  const steps = (first: string, second: string) =>
    findingsOf(`${first}\nPrompt.\n## Two\n${second}\nPrompt.`);

  it.each([
    ["append and replace", "@output variable:a", "@write-mode replace\n@output variable:a"],
    [
      "replace and new",
      "@write-mode replace\n@output variable:a",
      "@write-mode new\n@output variable:a",
    ],
    ["the whole and a part", "@output variable:a", "@output variable:a.b"],
    ["new twice", "@write-mode new\n@output variable:a", "@write-mode new\n@output variable:a"],
  ])("%s", (_name, first, second) => {
    const line = `${first}\nPrompt.\n## Two\n${second}`.split("\n").length;
    const findings = steps(first, second);
    expect(findings).toMatchObject([{ code: "bad_directive", at: "@output", line }]);
    expect(findings[0]?.message).toContain(
      `variable:a is an @output in line ${first.split("\n").length} too`,
    );
  });

  it.each([
    ["appended to twice", "@output variable:a", "@output variable:a"],
    ["two parts", "@output variable:a.b", "@write-mode replace\n@output variable:a.c"],
    ["files", "@output file:a.md", "@write-mode new\n@output file:a.md"],
    ["parts of a new variable", "@write-mode new\n@output variable:a.b\n@output variable:a.c", ""],
  ])("but not %s", (_name, first, second) => {
    expect(steps(first, second)).toEqual([]);
  });
});

it("what a template asks for may be tools of the agent; others are findings with their step and line", () => {
  const plan = planOf("@tools search\nP.\n## Two\n@tools search,\tserch(variable=a) fetch\nP.");
  expect(templateFindings(plan, ["search", "url_import"])).toEqual([
    {
      code: "unknown_tool",
      call: "two",
      at: "@tools",
      line: 4,
      message: "There is no tool serch. Did you mean search?",
    },
    {
      code: "unknown_tool",
      call: "two",
      at: "@tools",
      line: 4,
      message: "There is no tool fetch.",
    },
  ]);
  expect(templateFindings(plan, ["search", "serch", "fetch"])).toEqual([]);
});
