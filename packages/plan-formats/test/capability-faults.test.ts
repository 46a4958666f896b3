import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCapabilities } from "../src/capability/capability-workflows.ts";
import { faultsOf, xmlFragment } from "./workflow-xml.ts";

const MARKUP =
  "A body is text: write markup in it as <![CDATA[…]]>, or its < as &lt;. Capability tags do not nest; is the one in front closed?";
const NOT_NAME = "use letters, digits and underscores, the first not a digit.";
const UNCLOSED = "1:1 The tag is not closed: end it with /> or </capability>.";
const STRAY = "Only capability tags and comments are read";

type Faults = readonly [text: string, ...faults: string[]];

const faults: readonly Faults[] = [
  ["", "1:1 There is no capability tag in the text."],
  // Tags without an end.
  ['<capability name="a"', UNCLOSED],
  ['<capability name="a">text', UNCLOSED],
  ['<capability name="a"><![CDATA[x]]', "1:31 Unclosed CDATA section."],
  ['<capability name="a">\n<!-- x', "2:5 Unclosed comment."],
  ["\n<!-- x", "2:1 The comment is not closed: end it with -->."],
  [
    '<capability name="a" <capability name="b"/>',
    "1:22 The tag in front of this < is not closed: end it with > or />.",
  ],
  // Attributes.
  ["<capability name=a />", "1:18 Attribute value expected."],
  ['<capability name="a"b="c"/>', "1:21 Unclosed start tag for element `capability`."],
  ['<capability name="a" b="1" b="2"/>', "1:33 Duplicate attribute: b."],
  [
    '<capability name="a" b="1 < 2"/>',
    "1:27 An attribute's value ends before this <, or has it written as &lt;.",
  ],
  // Entities and characters.
  [
    '<capability name="a">R&D</capability>',
    "1:26 Unterminated reference (a reference must end with `;`).",
  ],
  ['<capability name="a">&nbsp;</capability>', "1:22 Named entity isn't defined: &nbsp;."],
  ['<capability name="a" b="&#0;"/>', "1:29 Character reference resolves to an invalid character."],
  ['<capability name="a">x\uD800</capability>', "1:23 Invalid character."],
  // Bodies.
  ['<capability name="a">\n  <b>x</b></capability>', `2:3 ${MARKUP}`],
  ['<capability name="a"><capability name="b"/></capability>', `1:22 ${MARKUP}`],
  ['<capability name="a"><?x ?></capability>', `1:22 ${MARKUP}`],
  [
    '<capability name="a"><!-- x -- y --></capability>',
    "1:29 The string `--` isn't allowed inside a comment.",
  ],
  // Between tags.
  ["hello", `1:1 ${STRAY}, no text between them.`],
  ['<capability name="a"/>\n  and <capability name="b"/>', `2:3 ${STRAY}, no text between them.`],
  ['<other name="a"/>', `1:1 ${STRAY}.`],
  ["</capability>", "1:1 There is no open tag that this one closes."],
  ["<![CDATA[x]]>", "1:1 Declarations and CDATA have no place between the tags."],
  ['<capability name="a"/><?php x ?>', "1:23 Processing instructions are not read."],
  // Names and values of the attributes.
  ["<capability/>", "1:1 A capability needs a name."],
  [
    '<capability name="a" action=""/>',
    "1:1 An action has a name; leave the attribute out if there is none.",
  ],
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
  it.each(faults)("%j", (text, ...expected) => {
    expect(faultsOf(text)).toEqual(expected);
    expect(readCapabilities(text).findings[0]?.code).toBe("bad_xml");
  });

  it("counts columns in characters", () => {
    expect(faultsOf('<!-- 😀 --><capability name="😀" x=y/>')).toEqual([
      "1:34 Attribute value expected.",
    ]);
  });
});

describe("hostile workflows", () => {
  it("define no entities: a billion laughs are three faults", () => {
    const laughs = `<?xml version="1.0"?>
<!DOCTYPE lolz [
 <!ENTITY lol "lol">
 <!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
]>
<capability name="a">&lol2;</capability>
<capability name="a" x="&lol;"/>`;
    expect(faultsOf(laughs)).toEqual([
      "2:1 Declarations and CDATA have no place between the tags.",
      "6:22 Named entity isn't defined: &lol2;.",
      "7:25 Named entity isn't defined: &lol;.",
    ]);
  });

  it("load no external entities", () => {
    const text = '<!DOCTYPE a SYSTEM "file:///etc/passwd"><capability name="a">&a;</capability>';
    expect(faultsOf(text)).toHaveLength(2);
  });
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
