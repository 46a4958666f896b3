import * as fc from "fast-check";
import { expect } from "vitest";
import { readCapabilities } from "../src/capability/capability-workflows.ts";

/** `line:column message` of each finding. */
export function faultsOf(text: string): string[] {
  const { plan, findings } = readCapabilities(text);
  expect(plan).toBeUndefined();
  return findings.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

/** A call before it is written as XML. */
interface WantedCall {
  readonly name: string;
  readonly action?: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly content?: string;
  readonly output?: string;
}

/** The choices that XML leaves to the writer. */
interface Manner {
  readonly quote: '"' | "'";
  readonly cdata: boolean;
}

const identifier = fc.stringMatching(/^[a-z][a-z0-9_]{0,11}$/);

/** Text that XML 1.0 allows: no control characters except tabs and line breaks, no lone surrogates. */
const xmlText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "<",
        ">",
        "&",
        '"',
        "'",
        "]]>",
        "]",
        "{{x}}",
        "<!--",
        "-->",
        "&amp;",
        "\n",
        "\t",
      ),
      fc.string({ unit: "grapheme", maxLength: 4 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) =>
    parts.join("").replaceAll(/[^\t\n\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, ""),
  );

const OURS = new Set(["name", "action", "output_var", "scope", "content", "input", "state"]);

/** Attribute names, including inherited keys of objects. Names that begin with `_` would be refused. */
const attributeName = fc
  .oneof(
    fc.stringMatching(/^[A-Za-zé][A-Za-z0-9_.-]{0,9}$/),
    fc.constantFrom("constructor", "toString"),
  )
  .filter((name) => !OURS.has(name));

export const wantedCall: fc.Arbitrary<WantedCall> = fc.record(
  {
    name: identifier.filter((name) => name !== "variable"),
    action: identifier,
    attributes: fc.dictionary(attributeName, xmlText, { maxKeys: 4, noNullPrototype: true }),
    content: xmlText.filter((text) => text !== ""),
    output: identifier.filter((name) => !["input", "state", "approvals"].includes(name)),
  },
  { requiredKeys: ["name", "attributes"] },
);

export const manner: fc.Arbitrary<Manner> = fc.record({
  quote: fc.constantFrom('"' as const, "'" as const),
  cdata: fc.boolean(),
});

/** Returns the content as it is read: unchanged from CDATA, without layout from text. */
export function expectedContent(
  content: string | undefined,
  { cdata }: Manner,
): string | undefined {
  if (cdata || content === undefined) return content;
  // `written` puts text bodies on one line. Only CDATA bodies have several lines here.
  return content.replaceAll("\n", " ").trim();
}

export function written(call: WantedCall, { quote, cdata }: Manner): string {
  const named: [string, string][] = [["name", call.name]];
  if (call.action !== undefined) named.push(["action", call.action]);
  named.push(...Object.entries(call.attributes));
  if (call.output !== undefined) named.push(["output_var", call.output]);
  const attributes = named
    .map(([key, value]) => ` ${key}=${quote}${attributeText(value)}${quote}`)
    .join("");
  if (call.content === undefined) return `<capability${attributes} />`;
  const body = cdata
    ? `<![CDATA[${call.content.replaceAll("]]>", "]]]]><![CDATA[>")}]]>`
    : escaped(call.content.replaceAll("\n", " "));
  return `<capability${attributes}>${body}</capability>`;
}

function attributeText(value: string): string {
  return escaped(value)
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;")
    .replaceAll("\n", "&#10;")
    .replaceAll("\t", "&#x9;");
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const FRAGMENTS = [
  ..."<>/'\"- &`\nx",
  ..."<capability,<capability,name=\"a\",name='b',output_var='o',/>,</capability>,</,<?,<!DOCTYPE".split(
    ",",
  ),
  ..."<![CDATA[,]]>,<!--,-->,```,\n```\n,~~~,&amp;,&#65;,😀,\r\n".split(","),
  '<capability name="c" />',
  '<capability name="d">x</capability>',
];

/** Fragments of tags, which in random order form tags or not. */
export const xmlFragment = fc.constantFrom(...FRAGMENTS);
