import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { readTemplate } from "../src/template/template.ts";

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
    ["@input", "@input needs a target, e.g. @input variable:summary"],
    ["@input summary (required)", "A target begins with variable: or file:"],
    ["@input buffer:summary", 'not "buffer:summary"'],
    ["@input variable:", "A variable's name or path cannot continue with"],
    ["@input variable:my-notes", 'cannot continue with "-notes"'],
    ["@input variable:a.b. (required)", 'cannot continue with ". (required)"'],
    ["@input file:/etc/passwd", "relative path"],
    ["@output file:{week}.md", "{week} is unknown"],
    [
      "@input variable:a (requird)",
      'Options are required, paths-only or select=[0:5], not "requird',
    ],
    ["@input variable:a (required", 'A ")" is missing'],
    ["@input variable:a (required) (required)", "(required) is given twice"],
    ["@input variable:a required", "Options go in parenth"],
    ["@input variable:a (select=)", "select= needs a path"],
    ["@input variable:a (select=title)", 'not "title)"'],
    ["@input variable:a (paths-only, select=.b)", "nothing to select"],
    ["@output variable:a (replace)", "@output takes no options"],
    ["@output variable:input", "variable:input belongs to the caller"],
    ["@output variable:state.a", "variable:state.a belongs to the run"],
    ["@output variable:a[*].b", "is not a single place"],
    ["@output file:a/*.md", "is a pattern: an output is one file"],
    ["@write-mode", '"" is not a write mode: write append, replace, new.'],
    ["@header ", "@header needs a text"],
    ["@tools", "@tools needs a tool"],
    ["@tools a,,b", "A tool's name is expected at"],
    ["@tools a(file=b)", 'takes variable=name, not "file'],
    ["@tools a(variable=)", "takes variable=name"],
    ["@tools a(variable=input)", "belongs to the caller"],
    ["@tools a(variable=b[*])", "is not a single place"],
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

describe("a template without a prompt", () => {
  it.each(["", "\n", " \t\r\n", "\uFEFF"])("%j has none", (text) => {
    const message = "The template has no prompt.";
    expect(readTemplate(text).findings).toEqual([{ code: "bad_plan", line: 1, message }]);
  });
});

describe("the limits of a template", () => {
  const directives = (count: number) => `${"@input variable:a\n".repeat(count)}Write.`;
  const headings = (count: number) => "## Step\nWrite.\n".repeat(count);

  it("1,000 directives are read; one more is a finding, and reading stops", () => {
    expect(readTemplate(directives(999)).findings).toEqual([]);
    expect(readTemplate(directives(1_000)).findings).toEqual([]);
    const [finding] = readTemplate(`Write.\n${directives(1_001)}`).findings;
    expect(finding).toMatchObject({ code: "bad_directive", line: 1_002 });
  });

  it("maxPlanItems steps are read; one more is a finding, and reading stops", () => {
    const maximum = limits.maxPlanItems;
    expect(readTemplate(headings(maximum - 1)).findings).toEqual([]);
    expect(readTemplate(headings(maximum)).findings).toEqual([]);
    const { findings } = readTemplate(headings(maximum + 10));
    expect(findings).toMatchObject([{ code: "too_many_calls", line: 2 * maximum + 1 }]);
  });
});

it("the limits of a directive are 200 tools in a step", () => {
  const tools = (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `t${index}`);
    const text = `@tools ${names.slice(0, 100).join(" ")}\n@tools ${names.slice(100).join(",")}`;
    return readTemplate(`${text}\nWrite.\n## Two\n${text}\nWrite.`).findings;
  };
  expect(tools(199)).toEqual([]);
  expect(tools(200)).toEqual([]);
  expect(tools(201).map(({ line }) => line)).toEqual([2, 6]);
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
