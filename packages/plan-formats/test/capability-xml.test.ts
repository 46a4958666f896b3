import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { readCapabilities } from "../src/capability/capability-workflows.ts";
import type { Plan } from "../../../src/turn/plan.ts";
import { xmlFragment } from "./workflow-xml.ts";

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

/** `line:column message` of each finding. */
function faultsOf(text: string): string[] {
  const { plan, findings } = readCapabilities(text);
  expect(plan).toBeUndefined();
  return findings.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const call = (id: string, tool: string, parameters: object, outputPath?: string) => {
  const capability = tool.split("_")[0];
  return { id, tool, capability, parameters, ...(outputPath !== undefined && { outputPath }) };
};
const recall = (id: string, query: string, outputPath: string) =>
  call(id, "memory_recall", { query }, outputPath);

describe("a capability workflow", () => {
  it("is a plan: the seed's example", () => {
    const content =
      "Create a professional summary combining:\nExperience: {{experience}}\nSkills: {{skills}}";
    const plan = planOf(summary);
    expect(plan.calls).toEqual([
      recall("call_1", "professional experience", "variable:experience"),
      recall("call_2", "skills", "variable:skills"),
      call("call_3", "variable_interpolate", { content }, "variable:prompt"),
      call("call_4", "web_generate", { content: "{{prompt}}" }, "variable:summary"),
      call("call_5", "filesystem_write", { path: "/tmp/summary.md", content: "{{summary}}" }),
    ]);
    expect({ ...plan, calls: [] }).toEqual({
      calls: [],
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
    const all = "&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&amp;lt; R&D &nbsp; a < b";
    const text = `<capability name="a" all="${all}">${all}</capability>`;
    const decoded = "<>&\"'A😀&lt; R&D &nbsp; a < b";
    expect(parametersOf(text)).toEqual({ all: decoded, content: decoded });
  });
});

describe("a body", () => {
  function contentOf(body: string) {
    return parametersOf(`<capability name="a">${body}</capability>`)?.content;
  }

  it.each([
    ["\n    if x:\n      y\n\n    z  \n  ", "if x:\n  y\n\nz"],
    ["\n\ttab\n    blanks\n", "\ttab\n    blanks"],
    ["\n    last of x\n  y", "  last of x\ny"],
    [" {{whole}} ", "{{whole}}"],
    // RooCodeInc/Roo-Code#3404: text behind the tag itself has no layout.
    ["def f():\n    return 1\r\n\t\r\n", "def f():\n    return 1"],
    // alek-sys/sublimetext_indentxml#82: only what XML reads as blanks is layout.
    ["\n\u3000一\n\u3000二\n", "\u3000一\n\u3000二"],
    ["\u00a0x\u2028", "\u00a0x\u2028"],
  ])("loses blanks at its ends and the indentation that its lines share: %j", (body, content) => {
    expect(contentOf(body)).toBe(content);
  });

  it("keeps line breaks and tabs in attributes: NaturalIntelligence/fast-xml-parser#330", () => {
    const text = `<capability name="a" sql="SELECT 1 -- one\n\tFROM t" b='\r\n"'/><capability/>`;
    const [first] = planOf(text.replace("<capability/>", "")).calls;
    expect(first?.parameters).toEqual({ sql: "SELECT 1 -- one\n\tFROM t", b: '\n"' });
    expect(faultsOf(text)).toEqual(["3:5 A capability needs a name."]);
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

const MARKUP =
  "A body is text: write markup in it as <![CDATA[…]]>, or its < as &lt;. Capability tags do not nest; is the one in front closed?";
const NOT_NAME = "use letters, digits and underscores, the first not a digit.";
const STRAY = "Only capability tags and comments are read.";

type Faults = readonly [text: string, ...faults: string[]];

const faults: readonly Faults[] = [
  ["", "1:1 There is no capability tag in the text."],
  // Tags without an end.
  ['<capability name="a"', "1:21 Unclosed start tag for element `capability`."],
  ['<capability name="a">text', "1:22 Missing end tag for element capability."],
  ["\n<!-- x", "2:5 Unclosed comment."],
  // Bodies.
  ['<capability name="a">\n  <b>x</b></capability>', `2:3 ${MARKUP}`],
  ['<capability name="a"><capability name="b"/></capability>', `1:22 ${MARKUP}`],
  ['<capability name="a"><?x ?></capability>', `1:22 ${MARKUP}`],
  // Between tags.
  ["hello", `1:1 ${STRAY}`],
  ['<capability name="a"/>\n  and <capability name="b"/>', `2:3 ${STRAY}`],
  ['<other name="a"/>', `1:1 ${STRAY}`],
  ["</capability>", `1:1 ${STRAY}`],
  ["<![CDATA[x]]>", `1:1 ${STRAY}`],
  [
    `<capability name="a">${"<b>".repeat(50_000)}</capability>`,
    "1:1 The tags are nested too deeply.",
  ],
  ['<capability name="a"/><?php x ?>', `1:23 ${STRAY}`],
  // All of them, also of what is not XML.
  [
    '<capability name=a />\n<capability name="b">\n<capability name="c" ',
    "1:18 Attribute value expected.",
    "2:22 Missing end tag for element capability.",
    "3:22 Unclosed start tag for element `capability`.",
  ],
  [
    '<capability name="a" action=""/>\n<other/>\n<capability/>',
    "1:1 An action has a name; leave the attribute out if there is none.",
    `2:1 ${STRAY}`,
    "3:1 A capability needs a name.",
  ],
  // Names and values of the attributes.
  [
    '<capability name="variable" action="push"/>',
    "1:1 The actions of variable are set, get, list, interpolate, clear, clear_all.",
  ],
  ['<capability name="a" output_var="a.b"/>', `1:1 "a.b" is not a variable name: ${NOT_NAME}`],
  ['<capability name="variable" action="set"/>', `1:1 "" is not a variable name: ${NOT_NAME}`],
  [
    '<capability name="a" output_var="input"/>',
    `1:1 "input" belongs to the run and cannot be written.`,
  ],
  [
    '<capability name="variable" action="clear" key="a" scope="conversation"/>',
    '1:1 The scope "conversation" has no effect here: only calls that write take one.',
  ],
  [
    '<capability name="variable" action="set" key="a" value="1" scope="all"/>',
    '1:1 The scope is "run" or "conversation".',
  ],
  ...["_outputPath", "_output_var", "_id", "_aftr"].map((name): Faults => [
    `<capability name="a" ${name}="b"/>`,
    `1:1 There is no attribute ${name}. A tag has _after and output_var, and its tool's parameters.`,
  ]),
  ['<capability name="a" _after=" "/>', '1:1 _after names gates: _after="†approvals.name".'],
  [
    '<capability name="a" content="b">c</capability>',
    "1:1 The content is either an attribute or the body, not both.",
  ],
];

describe("a broken workflow", () => {
  it.each(faults)("%.100s", (text, ...expected) => {
    expect(faultsOf(text)).toEqual(expected);
    expect(readCapabilities(text).findings[0]?.code).toBe("bad_xml");
  });

  it("counts columns in characters", () => {
    expect(faultsOf('<!-- 😀 --><capability name="😀" x=y/>')).toEqual([
      "1:34 Attribute value expected.",
    ]);
  });
});

it.each([
  `<?xml version="1.0"?>\n<!DOCTYPE lolz [<!ENTITY lol "lol">]>\n<capability name="a" x="&lol;"/>`,
  `<!-- -->\n<!DOCTYPE a SYSTEM "file:///etc/passwd"><capability name="a">&a;</capability>`,
])("a workflow defines and loads no entities: %j", (text) => {
  expect(faultsOf(text)).toEqual([`2:1 ${STRAY}`]);
});

it("any text is a plan, or has findings with positions in the text", () => {
  fc.assert(
    fc.property(fc.array(xmlFragment, { maxLength: 30 }), (parts) => {
      const text = parts.join("");
      const lines = text.split("\n");
      const { plan, findings } = readCapabilities(text);
      expect(plan === undefined).toBe(findings.length > 0);
      for (const { line = 0, column = 0, message } of findings) {
        expect(message).not.toBe("");
        const length = [...(lines[line - 1] ?? "")].length;
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeGreaterThanOrEqual(1);
        expect(column).toBeLessThanOrEqual(length + 1);
      }
    }),
    { numRuns: 3_000 },
  );
});
