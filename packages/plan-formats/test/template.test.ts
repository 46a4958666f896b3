import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TemplateStep, readTemplate, type Template } from "../src/template/template.ts";
import * as limits from "../../../src/limits.ts";
import { planFromTemplate, PROMPT_TOOL, templates } from "../src/template/templates.ts";
import { planOf } from "./template-run.ts";

function read(text: string): Template {
  const { template, findings } = readTemplate(text);
  expect(findings).toEqual([]);
  if (template === undefined) throw new Error("no template and no findings");
  return template;
}

function onlyStep(text: string): TemplateStep {
  const { steps } = read(text);
  const [step] = steps;
  if (step === undefined || steps.length !== 1) throw new Error(`${steps.length} steps`);
  return step;
}

function onlyInput(line: string) {
  const [input] = onlyStep(`${line}\nWrite.\n`).inputs;
  return input;
}

const each = { each: true };

describe("the template of the specification", () => {
  const text = [
    "@input variable:summary (required)",
    "@input file:notes/*.md (paths-only)",
    "@input variable:results (select=[0:5][*].title)",
    "@output variable:report",
    "@write-mode replace",
    "@header Report for {today}",
    "@tools url_import(variable=source_dump)",
    "Write the report.",
    "",
  ].join("\n");

  it("is read as JSON data", () => {
    const variable = (name: string) => ({ scheme: "variable", name, path: [] });
    const input = { required: false, pathsOnly: false, select: [] };
    const select = [{ from: 0, to: 5 }, each, { key: "title" }];
    const step = {
      line: 1,
      inputs: [
        { ...input, target: variable("summary"), required: true, line: 1 },
        { ...input, target: { scheme: "file", path: "notes/*.md" }, pathsOnly: true, line: 2 },
        { ...input, target: variable("results"), select, line: 3 },
      ],
      outputs: [{ target: variable("report"), line: 4 }],
      writeMode: "replace",
      header: "Report for {today}",
      tools: [{ name: "url_import", target: variable("source_dump"), line: 7 }],
      prompt: "Write the report.\n",
    };
    const template = read(text);
    expect(template).toEqual({ steps: [step] });
    expect(JSON.parse(JSON.stringify(template))).toEqual(template);
  });
});

describe("how directives may be written", () => {
  it.each([
    ["@input\tvariable:a\t(required)\t", true, false],
    ["@input variable:a(required)", true, false],
    ["@input variable:a (required, paths-only)", true, true],
    ["@input variable:a (paths-only)(required)", true, true],
  ])("%j", (line, required, pathsOnly) => {
    const target = { name: "a", path: [] };
    expect(onlyInput(line)).toMatchObject({ target, required, pathsOnly });
  });

  it.each([
    "@tools search, url_import(variable=page), mcp/read-file",
    "@tools search\n@tools url_import (variable=page) , mcp/read-file,",
  ])("tools, with and without a target: %j", (lines) => {
    const { tools } = onlyStep(`${lines}\nWrite.`);
    expect(tools.map(({ name, target }) => [name, target?.name])).toEqual([
      ["search", undefined],
      ["url_import", "page"],
      ["mcp/read-file", undefined],
    ]);
  });
});

describe("steps", () => {
  it("begin at second-level headings, each with its own directives", () => {
    const { steps } = read(
      "Collect.\n@output variable:a\n## Write \n@input variable:a\nWrite.\n\n##\tCheck\nCheck.",
    );
    expect(steps.map(({ title, line, prompt }) => [title, line, prompt])).toEqual([
      [undefined, 1, "Collect.\n"],
      ["Write", 3, "Write.\n\n"],
      ["Check", 7, "Check."],
    ]);
    expect(steps.map(({ inputs }) => inputs.length)).toEqual([0, 1, 0]);
    expect(steps.map(({ outputs }) => outputs.length)).toEqual([1, 0, 0]);
  });

  it("do not include a title alone at the beginning, which is the template's name", () => {
    const { name, steps } = read("# Weekly report\n\n## One\nWrite.");
    expect(name).toBe("Weekly report");
    expect(steps.map(({ title }) => title)).toEqual(["One"]);
  });
});

describe("text that is not a directive", () => {
  it.each([" @input x", "\\@input x", "@", "@@input", "a @input x"])("%j is text", (line) => {
    expect(onlyStep(line).prompt).toBe(line);
  });

  it.each([
    ["backticks", "```", "```"],
    ["tildes", "~~~", "~~~"],
    ["backticks after tildes", "~~~ ```", "~~~"],
    ["blanks after its end", "```", "``` \t"],
    ["a quote around it", "> ```", "> ```"],
    // rvben/rumdl#689, markedjs/marked#2518
    ["a list item around it", "- ```js", "  ```"],
    ["list items around it", "1. * ~~~", "     ~~~"],
  ])("between fences with %s nothing is a directive", (_name, open, close) => {
    const fenced = `${open}\n@input nothing\n## No step\n@nobody\n${close}\n`;
    const step = onlyStep(`${fenced}@output variable:a\n`);
    expect(step).toMatchObject({ prompt: fenced, outputs: [{ line: 6 }] });
  });
});

describe("line breaks and byte order marks", () => {
  it.each(["\n", "\r\n", "\r"])("%j ends a line", (lineBreak) => {
    const lines = ["@input variable:a", "One.", "## Two", "Two.", "```", "@x", "```", ""];
    const { steps } = read(lines.join(lineBreak));
    expect(steps).toMatchObject([
      { prompt: `One.${lineBreak}`, inputs: [{ line: 1 }] },
      { title: "Two", line: 3, prompt: ["Two.", "```", "@x", "```", ""].join(lineBreak) },
    ]);
  });

  it("a byte order mark is part of the text, except at the start", () => {
    expect(onlyStep("\uFEFF@input variable:a\nWrite.").inputs).toHaveLength(1);
    expect(onlyStep("\uFEFFWrite.\n\uFEFF").prompt).toBe("Write.\n\uFEFF");
  });
});

describe("the prompt", () => {
  const text = fc
    .string({ unit: "binary", maxLength: 20 })
    .map((text) => ` ${text.replaceAll(/[\r\n`~]/g, "")}`);
  const fenced = fc
    .tuple(fc.constantFrom("```", "~~~~", "`````js"), fc.constantFrom("\n", "\r\n"))
    .map(([open, lineBreak]) => {
      const close = open.replaceAll(/[^`~]/g, "");
      return [open, "@nobody", "## nothing", "``", close].join(lineBreak);
    });
  const marked = fc.constantFrom(
    "@input variable:a",
    "@input file:a/**/*.md (paths-only)",
    "@tools ",
    "## Step",
  );
  const line = fc.oneof(
    fc.record({ kind: fc.constant("text"), text: fc.oneof(text, fenced) }),
    fc.record({ kind: fc.constant("marked"), text: marked }),
  );
  const lines = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 });

  it("is every line that is neither a directive nor a heading, byte for byte", () => {
    fc.assert(
      fc.property(lines, (lines) => {
        let tools = 0;
        let written = " Start.\n";
        let expected = written;
        for (const [{ kind, text }, lineBreak] of lines) {
          // A step may name each tool once, and needs a prompt.
          written += text === "@tools " ? `@tools tool_${tools++}` : text;
          written += lineBreak;
          if (kind === "text") expected += text + lineBreak;
          if (text !== "## Step") continue;
          written += " Go on.\n";
          expected += " Go on.\n";
        }
        expect(
          read(written)
            .steps.map(({ prompt }) => prompt)
            .join(""),
        ).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});

/** Returns the findings of a directive in line 3. */
function wrongWith(directive: string) {
  const { template, findings } = readTemplate(`Write.\n\n${directive}\n`);
  expect(template).toBeUndefined();
  return findings;
}

describe("a directive that cannot be followed is a finding with its line", () => {
  it.each([
    ["@inputs variable:a", "There is no @inputs. Did you mean @input?"],
    ["@Input variable:a", "Did you mean @input?"],
    ["@alice please check", "There is no @alice. If it is text, begin the line with"],
    ["@input", "Write @input variable:name.path or file:notes/*.md, then (required)"],
    ["@input summary (required)", 'not "summary (required)"'],
    ["@input buffer:summary", 'not "buffer:summary"'],
    ["@input variable:", 'not ""'],
    ["@input variable:my-notes", 'not "-notes"'],
    ["@input variable:a.b. (required)", 'not ". (required)"'],
    ["@input file:/etc/passwd", "relative path"],
    ["@output file:{week}.md", "{week} is unknown"],
    ["@input variable:a (requird)", 'not "requird)"'],
    ["@input variable:a (required", 'not ""'],
    ["@input variable:a (required) (required)", "(required) is given twice"],
    ["@input variable:a required", 'not " required"'],
    ["@input variable:a (select=)", 'not ")"'],
    ["@input variable:a (select=title)", 'not "title)"'],
    ["@input variable:a (paths-only, select=.b)", "nothing to select"],
    [
      "@output variable:a (replace)",
      'Write @output variable:name or file:name.md, not " (replace)"',
    ],
    ["@output variable:input", "variable:input belongs to the caller"],
    ["@output variable:state.a", "variable:state.a belongs to the run"],
    ["@output variable:a.b", "variable:a.b is a part"],
    ["@output file:a/*.md", "is a pattern: an output is one file"],
    ["@write-mode", 'Write @write-mode append, replace or new, once, not "".'],
    ["@header ", "Write @header Report for {today}, once"],
    ["@tools", "Write @tools search, url_import(variable=page)"],
    ["@tools a,,b", 'not ",b"'],
    ["@tools a(file=b)", 'not "file=b)"'],
    ["@tools a(variable=)", 'not ")"'],
    ["@tools a(variable=input)", "belongs to the caller"],
    ["@tools a(variable=b[*])", "is a part"],
    ["@tools a, b, a(variable=c)", "a is named twice in this step"],
  ])("%s", (directive, said) => {
    const [finding, ...others] = wrongWith(directive);
    expect(others).toEqual([]);
    const [at] = directive.split(" ");
    expect(finding).toMatchObject({ code: "bad_directive", at, line: 3 });
    expect(finding?.message).toContain(said);
  });

  it.each(["\n", "\r\n", "\r"])("lines are counted by %j", (lineBreak) => {
    const text = ["\uFEFFWrite.", "```", "@a", "```", "@b"].join(lineBreak);
    expect(readTemplate(text).findings.map(({ line }) => line)).toEqual([5]);
  });
});

it.each(["", "\n", " \t\r\n", "\uFEFF"])("a template without a prompt is a finding: %j", (text) => {
  const message = "The template has no prompt.";
  expect(readTemplate(text).findings).toEqual([{ code: "bad_plan", line: 1, message }]);
});

const listed = (names: readonly string[]) =>
  `@tools ${names.slice(0, 100).join(" ")}\n@tools ${names.slice(100).join(",")}\nWrite.`;

it.each<[string, number, (count: number) => string, object]>([
  [
    "directives",
    1_000,
    (count) => `${"@input variable:a\n".repeat(count)}Write.`,
    { code: "bad_directive", line: 1_001 },
  ],
  [
    "steps",
    limits.maxPlanItems,
    (count) => "## Step\nWrite.\n".repeat(count),
    { code: "too_many_calls", line: 2 * limits.maxPlanItems + 1 },
  ],
  [
    "tools in a step",
    200,
    (count) => listed(Array.from({ length: count }, (_, index) => `t${index}`)),
    { code: "bad_directive", line: 2 },
  ],
])("a template has at most so many %s: %i; one more is a finding", (_, most, written, finding) => {
  for (const count of [most - 1, most]) expect(readTemplate(written(count)).findings).toEqual([]);
  expect(readTemplate(written(most + 1)).findings).toMatchObject([finding]);
});

const unit = fc.constantFrom(
  ..."@input |@output |@tools |@write-mode |@header |variable:|file:|a|.b|[*]|[0:|]|(|)|,|=|select|required|paths-only|new| |\t|\n|\r\n|```|~~~|## |# |*|{today}|'|\\|…".split(
    "|",
  ),
);

it("any text is a template, or has findings with existing lines", () => {
  const texts = fc.array(unit, { maxLength: 40 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(texts, (text) => {
      const { template, findings } = readTemplate(text);
      const lineCount = text.split(/\r\n|\r|\n/).length;
      for (const { line = 0, message } of findings) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lineCount);
        expect(message).not.toContain("undefined");
      }
      expect(template === undefined).toBe(findings.length > 0);
    }),
    { numRuns: 3_000 },
  );
});

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
    ["files", "@output file:a.md", "@write-mode new\n@output file:a.md"],
  ])("but not %s", (_name, first, second) => {
    expect(steps(first, second)).toEqual([]);
  });
});

it("what a template asks for may be tools of the agent; others are findings with their step and line", () => {
  const plan = planOf("@tools search\nP.\n## Two\n@tools search,\tserch(variable=a) fetch\nP.");
  const findings = (...toolNames: string[]) =>
    templates.findings?.(plan, { toolNames, hasFiles: true });
  const about = { code: "unknown_tool", call: "two", at: "@tools", line: 4 };
  expect(findings("search", "url_import")).toEqual([
    { ...about, message: "There is no tool serch. Did you mean search?" },
    { ...about, message: "There is no tool fetch." },
  ]);
  expect(findings("search", "serch", "fetch")).toEqual([]);
  const effects = plan.calls.map((call) =>
    templates.effectsOf?.(call, (name) => (name === "fetch" ? "once" : "none")),
  );
  expect(effects).toEqual(["none", "once"]);
});
