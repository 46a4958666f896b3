import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type TemplateStep, readTemplate, type Template } from "../src/template/template.ts";

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
    const results = { scheme: "variable", name: "results", path: [] };
    const step = {
      line: 1,
      inputs: [
        {
          target: { scheme: "variable", name: "summary", path: [] },
          required: true,
          pathsOnly: false,
          select: [],
          line: 1,
        },
        {
          target: { scheme: "file", path: "notes/*.md" },
          required: false,
          pathsOnly: true,
          select: [],
          line: 2,
        },
        {
          target: results,
          required: false,
          pathsOnly: false,
          select: [{ from: 0, to: 5 }, each, { key: "title" }],
          line: 3,
        },
      ],
      outputs: [{ target: { scheme: "variable", name: "report", path: [] }, line: 4 }],
      writeMode: "replace",
      header: "Report for {today}",
      tools: [
        {
          name: "url_import",
          target: { scheme: "variable", name: "source_dump", path: [] },
          line: 7,
        },
      ],
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
