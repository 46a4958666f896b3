import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCapabilities } from "../src/capability/capability-workflows.ts";
import { faultsOf, xmlFragment } from "./workflow-xml.ts";

const MARKUP =
  "A body is text: write markup in it as <![CDATA[…]]>, or its < as &lt;. Capability tags do not nest; is the one in front closed?";
const NOT_NAME = "use letters, digits and underscores, the first not a digit.";
const STRAY = "Only capability tags and comments are read.";

type Faults = readonly [text: string, ...faults: string[]];

const faults: readonly Faults[] = [
  ["", "1:1 There is no capability tag in the text."],
  // Tags without an end.
  ['<capability name="a"', "1:21 Unclosed start tag for element `capability`."],
  ['<capability name="a">text', "1:26 Missing end tag for element capability."],
  ["\n<!-- x", "2:5 Unclosed comment."],
  // Entities and characters.
  [
    '<capability name="a">R&D</capability>',
    "1:26 Unterminated reference (a reference must end with `;`).",
  ],
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
  ["<capability>".repeat(50_000), "1:1 The tags are nested too deeply."],
  ['<capability name="a"/><?php x ?>', `1:23 ${STRAY}`],
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
  [
    '<capability name="a" _outputPath="$b"/>',
    "1:1 There is no attribute _outputPath; the nearest is output_var. Of those that begin with _, a tag has only _after.",
  ],
  ...[
    ["_output", "output_var"] as const,
    ["_output_var", "output_var"],
    ["_aftr", "_after"],
    ["_when", "_after"],
    ["_id", "_after"],
  ].map(([written, near]): Faults => [
    `<capability name="a" ${written}="b"/>`,
    `1:1 There is no attribute ${written}; the nearest is ${near}. Of those that begin with _, a tag has only _after.`,
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
