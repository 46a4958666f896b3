import * as fc from "fast-check";
import {
  filesWithoutBucket,
  planFromTemplate,
  PROMPT_TOOL,
  templateFindings,
  variablesRead,
} from "../src/template/template-plan.ts";
import { templateStepSchema } from "../src/template/template-step.ts";
import { readTemplate } from "../src/template/template.ts";
import { templates } from "../src/template/templates.ts";
import { planOf } from "./template-run.ts";
import { describe, expect, it } from "vitest";

const findingsOf = (text: string) => planFromTemplate(text).findings;
const idsOf = (text: string) => planOf(text).calls.map(({ id }) => id);

describe("a template as a plan", () => {
  it("has its steps in order, in which nothing is a reference", () => {
    const plan = planOf("# Daily\n\n## Read\nRead $x, {{y}}.\n## Write\nWrite †state.z.");
    expect(plan).toMatchObject({ name: "Daily", format: "template", order: "written" });
    expect(plan.syntaxes).toEqual([]);
    expect(plan.calls.map(({ id, tool }) => [id, tool])).toEqual([
      ["read", PROMPT_TOOL],
      ["write", PROMPT_TOOL],
    ]);
    expect(plan.calls[0]?.parameters).toMatchObject({ prompt: "Read $x, {{y}}.\n", line: 3 });
  });

  it("outputs the variables that it writes, in the mode of its steps", () => {
    const plan = planOf(
      `@output variable:a
       Prompt.
## Two
@write-mode replace
@output variable:b
@output variable:d.e[0]
Prompt.
## Three
@write-mode new
@output variable:c
@output file:c.md
Prompt.
## Four
@output variable:a
@output variable:d.f
Prompt.`,
    );
    expect(plan.outputs).toEqual([
      { name: "a", mode: "append" },
      { name: "b", mode: "replace" },
      { name: "d", mode: "replace" },
      { name: "c", mode: "new" },
    ]);
    expect(plan.runNames).toEqual(["a", "b", "d", "c"]);
  });

  it("saves the answer of a step without an output in its state", () => {
    const plan = planOf("Say hello.");
    expect(plan.calls[0]?.parameters).toMatchObject({
      outputs: [{ target: { scheme: "variable", name: "state", path: [{ key: "step_1" }] } }],
    });
    expect(plan.runNames).toEqual([]);
    expect(plan.outputs).toEqual([]);
  });

  it.each([
    ["Prompt.", ["step_1"]],
    ["## Read & Write!\nPrompt.", ["read_write"]],
    ["## Étude\nP.\n## étude\nP.\n## Etude\nP.", ["etude", "etude_2", "etude_3"]],
    ["P.\n## Step 1\nP.\n## 3\nP.\n## 数据\nP.", ["step_1", "step_1_2", "step_3", "step_4"]],
    ["## constructor\nP.\n## __proto__\nP.", ["step_1", "proto"]],
    [`## ${"long ".repeat(1_000)}\nP.`, ["long_long_long_long_long_long_long_long_"]],
  ])("names its steps: %j", (text, ids) => {
    expect(idsOf(text)).toEqual(ids);
  });

  it("passes its steps unchanged as JSON parameters", () => {
    const name = fc.constantFrom("a", "b.c", "d[0].e", 'f["g h"]', "i[-1]");
    const part = fc.constantFrom("", " (select=[0:5][*].title)", " (select=[1:])", " (required)");
    const line = fc
      .tuple(name, part)
      .map(([target, option]) => `@input variable:${target}${option}`);
    fc.assert(
      fc.property(fc.array(line), name, (lines, output) => {
        const text = `${lines.join("\n")}\n@header H {today}\n@output variable:${output}\nPrompt.`;
        const [step] = readTemplate(text).template?.steps ?? [];
        const parameters = planOf(text).calls[0]?.parameters;
        expect(parameters).toEqual(step);
        expect(templateStepSchema.parse(parameters)).toEqual(step);
      }),
    );
  });

  it("is refused with the findings of its text", () => {
    expect(findingsOf("@input buffer:x\nPrompt.")).toMatchObject([
      { code: "bad_directive", at: "@input", line: 1 },
    ]);
    expect(findingsOf("")).toMatchObject([{ code: "bad_plan", line: 1 }]);
  });
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

describe("what a template asks for", () => {
  it("may be tools of the agent; others are findings with their step and line", () => {
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

  it("are variables", () => {
    const text =
      "@input variable:a.b\n@input file:f\nP.\n## Two\n@input variable:a\n@input variable:c\nP.";
    expect(variablesRead(planOf(text))).toEqual(["a", "c"]);
  });

  it("may be files; without a bucket each is a finding with its line", () => {
    const text =
      "@input variable:a\n@input file:a/*.md\nRead.\n## Two\n@output file:b.md\n@output variable:b\nWrite.";
    const findings = filesWithoutBucket(planOf(text));
    expect(findings).toMatchObject([
      { code: "no_bucket", call: "step_1", at: "@input", line: 2 },
      { code: "no_bucket", call: "two", at: "@output", line: 5 },
    ]);
    expect(findings[0]?.message).toContain("bind BLOBS");
  });
});

it("the plan format reports unknown tools, and files if there is no bucket", () => {
  const plan = planOf("@input file:a.md\n@tools nope\nRead.");
  const codesOf = (hasFiles: boolean) =>
    templates.findings?.(plan, { toolNames: ["echo"], hasFiles }).map(({ code }) => code);
  expect(codesOf(false)).toEqual(["unknown_tool", "no_bucket"]);
  expect(codesOf(true)).toEqual(["unknown_tool"]);
});
