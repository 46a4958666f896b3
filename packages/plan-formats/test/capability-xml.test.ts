import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { readCapabilities } from "../src/capability/capability-workflows.ts";
import type { Plan } from "../../../src/turn/plan.ts";
import { sampled, samples } from "../../../test/support/slow.ts";
import { expectedContent, faultsOf, manner, wantedCall, written } from "./workflow-xml.ts";

const summary = readFileSync(
  join(import.meta.dirname, "../../../test/cases/workflows/summary.xml"),
  "utf8",
);

function planOf(text: string): Plan {
  const { plan, findings } = readCapabilities(text);
  expect(findings).toEqual([]);
  if (plan === undefined) throw new Error("There is no plan.");
  return plan;
}

function parametersOf(text: string) {
  return planOf(text).calls[0]?.parameters;
}

describe("a capability workflow", () => {
  it("is a plan: the seed's example", () => {
    const content =
      "Create a professional summary combining:\nExperience: {{experience}}\nSkills: {{skills}}";
    expect(planOf(summary)).toEqual({
      calls: [
        {
          id: "call_1",
          tool: "memory_recall",
          capability: "memory",
          parameters: { query: "professional experience" },
          outputPath: "variable:experience",
        },
        {
          id: "call_2",
          tool: "memory_recall",
          capability: "memory",
          parameters: { query: "skills" },
          outputPath: "variable:skills",
        },
        {
          id: "call_3",
          tool: "variable_interpolate",
          capability: "variable",
          parameters: { content },
          outputPath: "variable:prompt",
        },
        {
          id: "call_4",
          tool: "web_generate",
          capability: "web",
          parameters: { content: "{{prompt}}" },
          outputPath: "variable:summary",
        },
        {
          id: "call_5",
          tool: "filesystem_write",
          capability: "filesystem",
          parameters: { path: "/tmp/summary.md", content: "{{summary}}" },
        },
      ],
      syntaxes: ["mustache"],
      runNames: ["experience", "skills", "prompt", "summary"],
      outputs: [],
      format: "capability-xml",
      order: "written",
    });
  });

  it("skips comments, a declaration, a byte order mark, and whitespace between tags", () => {
    const text =
      '\uFEFF<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- <capability name="no"/> -->\r\n\t<capability name="a"/><!-- & < - -->\n';
    expect(planOf(text).calls).toEqual([{ id: "call_1", tool: "a", parameters: {} }]);
  });

  it("turns unknown attributes into parameters, whatever their names", () => {
    const text = `<capability name="a" query='say "hi"' constructor="x" Größe="12" id="7" xml:lang="de"/>`;
    expect(Object.entries(parametersOf(text) ?? {})).toEqual([
      ["query", 'say "hi"'],
      ["constructor", "x"],
      ["Größe", "12"],
      ["id", "7"],
      ["xml:lang", "de"],
    ]);
  });

  it("decodes the five entities and numeric characters, but only once", () => {
    const all = "&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&amp;lt;";
    const text = `<capability name="a" all="${all}">${all}</capability>`;
    expect(parametersOf(text)).toEqual({ all: "<>&\"'A😀&lt;", content: "<>&\"'A😀&lt;" });
  });
});

describe("a body", () => {
  function contentOf(body: string) {
    return parametersOf(`<capability name="a">${body}</capability>`)?.content;
  }

  it("loses surrounding whitespace and the indentation that its lines share", () => {
    expect(contentOf("\n    if x:\n      y\n\n    z  \n  ")).toBe("if x:\n  y\n\nz");
    expect(contentOf("first\r\n    second\r\n\t\r\n      third\r\n")).toBe(
      "first\nsecond\n\n  third",
    );
    expect(contentOf("\n\ttab\n    blanks\n")).toBe("tab\n    blanks");
    expect(contentOf(" {{whole}} ")).toBe("{{whole}}");
  });

  it("is taken literally in CDATA", () => {
    expect(contentOf("<![CDATA[ <b>&amp;</b>\n    x ]]>")).toBe(" <b>&amp;</b>\n    x ");
    expect(contentOf("\n  <![CDATA[ a ]]>\n  <![CDATA[ b ]]>\n")).toBe(" a \n   b ");
    expect(contentOf("a <![CDATA[<]]> b ")).toBe("a < b");
    expect(contentOf("<![CDATA[]]]]><![CDATA[>]]>")).toBe("]]>");
    expect(contentOf('<![CDATA[<capability name="b"/></capability>]]>')).toBe(
      '<capability name="b"/></capability>',
    );
  });

  it("loses its comments, whatever they contain", () => {
    expect(contentOf('a<!-- <capability name="b"/> - - > </capability> -->b')).toBe("ab");
  });
});

it("a variable that a workflow writes belongs to the run, or to the conversation if its scope says so", () => {
  const plan = planOf(`
      <capability name="a" output_var="one" />
      <capability name="a" output_var="two" scope="conversation" />
      <capability name="variable" action="set" key="three" value="3" />
      <capability name="variable" action="set" key="four" value="4" scope="conversation" />
      <capability name="a" output_var="one" />`);
  expect(plan.runNames).toEqual(["one", "three"]);
  expect(plan.calls[1]).toEqual({
    id: "call_2",
    tool: "a",
    parameters: {},
    outputPath: "variable:two",
  });
  expect(plan.calls[3]?.parameters).toEqual({ key: "four", value: "4" });
});

describe("the limits of a workflow", () => {
  const { maxBatchItems, maxPieceChars, maxRecordBytes } = limits;
  const tag = '<capability name="a"/>';

  it("cap its characters", () => {
    expect(planOf(tag + " ".repeat(maxRecordBytes - tag.length)).calls).toHaveLength(1);
    expect(faultsOf(tag + " ".repeat(maxRecordBytes - tag.length + 1))).toEqual([
      `1:1 A workflow has at most ${maxRecordBytes} characters, this has ${maxRecordBytes + 1}.`,
    ]);
  });

  it("cap its calls", () => {
    expect(planOf(`${tag}\n`.repeat(limits.maxPlanItems)).calls).toHaveLength(limits.maxPlanItems);
    expect(readCapabilities(`${tag}\n`.repeat(limits.maxPlanItems + 2)).findings).toEqual([
      {
        code: "too_many_calls",
        message: `A workflow has at most ${limits.maxPlanItems} calls.`,
        line: limits.maxPlanItems + 1,
        column: 1,
      },
    ]);
  });

  it("cap the number and length of attributes", () => {
    const named = (count: number) =>
      `<capability name="a"${Array.from({ length: count - 1 }, (_, index) => ` a${index}=""`).join("")}/>`;
    expect(Object.keys(parametersOf(named(maxBatchItems)) ?? {})).toHaveLength(maxBatchItems - 1);
    expect(faultsOf(named(maxBatchItems + 1))[0]).toContain(`has ${maxBatchItems + 1}.`);
    const long = (length: number) => `<capability name="a" b="${"x".repeat(length)}"/>`;
    expect(parametersOf(long(maxPieceChars))).toEqual({ b: "x".repeat(maxPieceChars) });
    expect(faultsOf(long(maxPieceChars + 1))[0]).toContain(`has ${maxPieceChars + 1}.`);
  });
});

it("any workflow is read back as the plan that it was written from", sampled, () => {
  const calls = fc.array(fc.tuple(wantedCall, manner), { minLength: 1, maxLength: 6 });
  const layout = fc.constantFrom("", "\n", "\r\n\t", "<!-- <capability name='x'/> -->");
  fc.assert(
    fc.property(calls, layout, (wanted, between) => {
      const text = wanted.map(([call, how]) => written(call, how)).join(between);
      const { calls, runNames } = planOf(text);
      expect(calls).toHaveLength(wanted.length);
      for (const [index, [want, how]] of wanted.entries()) {
        const content = expectedContent(want.content, how);
        const parameters = Object.entries(want.attributes);
        if (content !== undefined && content !== "") parameters.push(["content", content]);
        const call = calls[index];
        expect(call?.tool).toBe([want.name, want.action].filter(Boolean).join("_"));
        expect(call?.outputPath).toBe(want.output && `variable:${want.output}`);
        expect(Object.entries(call?.parameters ?? {}).sort()).toEqual(parameters.sort());
      }
      const outputs = wanted.flatMap(([{ output }]) => output ?? []);
      expect(runNames).toEqual([...new Set(outputs)]);
    }),
    { numRuns: samples(500) },
  );
});
