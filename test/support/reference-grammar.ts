// Texts that resemble the reference language, for differential tests.

import fc from "fast-check";
import type { Variables } from "./reference-oracle.ts";

/** Small values, including some that open URLs, tags and code, or look like references themselves. */
export const fixedVariables: Variables = {
  x: 1,
  temp: 5,
  temperature: 20.5,
  no: false,
  nothing: null,
  empty: "",
  word: "word",
  report: "# Report\nline two",
  emoji: "a😀b",
  ids: ["u1", "u2", "u3"],
  none: [],
  rows: [
    { id: 1, name: "a|b" },
    { id: 2, name: "c\r\nd", extra: null },
  ],
  mixed: [{ a: 1 }, { b: 2 }, { a: [3] }],
  hollow: [{}, {}],
  odd: { "0": "zero", "a-b": 1, "it's": { "]": 2 }, "": 3, ticks: "````" },
  weather: { city: "New York", temp: 72, wind: { speed: 5, dir: null }, tags: ["mild", "clear"] },
  state: { user: { summary: "short" } },
  quote: "$& $1 $$ $temp ${x} {{temp}} †temp",
  dollar: "$",
  backslash: "\\",
  tick: "`",
  fence: "\n```\n",
  scheme: "HTTPS",
  opener: "https://e.example/?q=",
  slashes: "//",
  colon: ":",
  tag: "<img src=//e.example/",
  angle: "<",
  bigger: ">",
  link: "](",
  paren: ")",
  label: "[a]:",
  bracket: "]",
  space: " ",
  line: "\n",
  lines: "\r\n\r\n",
  carriage: "\r",
};

const NAMES = Object.keys(fixedVariables);
const UNKNOWN_NAMES = ["HOME", "tem", "tempe", "_", "constructor", "__proto__", "n".repeat(65)];

const SEGMENTS = [
  [".temp", ".city", ".wind", ".speed", ".user", ".summary", ".id", ".a", ".name", ".ticks"],
  [".nope", ".length", ".constructor", "[0]", "[1]", "[-1]", "[7]", "[*]", "[:]", "[1:]"],
  ["[:1]", "[0:2]", "[-2:-1]", "['a-b']", '["0"]', "['it\\'s']", "['']", '["]"]', "['`']"],
  ['["//"]', "['$x']", '["{{x}}"]'],
].flat();

/** Text that looks like a segment but is not one, or not a complete one. */
const BROKEN_SEGMENTS = [
  [".", "..", ".5", "[", "[]", "[01]", "[-0]", "[-", "[-]", "[1", "[1:2", "[1:2:3]", "[ 0]"],
  ["[**]", "[*", "['a", '["a\n"]', "['\\n']", "['a\"]", "['a\\"],
].flat();

/** Text between references in every text. It seldom opens anything that stays open. */
const GLUE = [
  [" ", " ", " ", "\n", "\n", "\n\n", "\r\n", "\r", "\t", "   ", ". ", ", ", ":", "!", "-", "("],
  [")", "[", "]", "}", "'", '"', "a", "word ", "_", "5", "é", "😀", "°F"],
].flat();

const DOLLARS = ["$", "$$", "$5.00", "$1,000 ", "US$", "$.", "$(", "${", "${{ ", "$ "];
const MATHEMATICS = ["$x$", "$$x$$", "$x^2$", "$\\temp$", "$temp+1$", "\\(x\\)"];
const BACKSLASHES = ["\\", "\\\\", "\\$", "\\{{", "\\†", "\\(", "\\)", "\\]", "\\`", "\\>"];
const FENCES = ["```", "````", "~~~", "\n```sh\n", "\n```\n", "\n> ~~~\n", "\n\t`````\r", "\n~~~~"];
const TICKS = ["`", "`", "``", "`a`", "` `", "~", "~~"];
const URLS = ["https:", "http://a.example/", "WWW.", "//", "1/2", "a//b", "/", "data:", "xws:"];
const MORE_URLS = [
  "mailto:a@e.example?",
  "javascript:",
  "tel:",
  "sms:",
  "FILE:",
  "wss:",
  "ftp",
  "s:",
];
const LINKS = ["](", "](", "[a](b)", "](<", "]( <", "](\n<", "](/v/(a)", "![i](", ")", "))", ">"];
const DEFINITIONS = [
  "\n[a]: ",
  "\n   [a]:",
  "\n    [a]:",
  "[a]:",
  "\n[a\\]]:",
  "\n[]:",
  "\n[[a]]:",
];
const TAGS = [
  "<",
  "<a ",
  "<a>",
  "</",
  "</p>",
  "<!",
  "<!-- ",
  "-->",
  ">",
  "< ",
  "<5",
  "<img\nsrc='",
];
const MUSTACHES = [
  "{",
  "{{",
  "}}",
  "{{ ",
  " }}",
  "{{{x}}}",
  "{{\nx}}",
  "{{ \tx\t }}",
  "{{x }",
  "}",
];
const DAGGERS = ["†", "††", "†x", "†temp ", "† x", " || †x", " && †ids[0]", "†nope||†x"];

const KINDS = [DOLLARS, MATHEMATICS, BACKSLASHES, FENCES, TICKS, URLS, MORE_URLS, LINKS];
KINDS.push(DEFINITIONS, TAGS, MUSTACHES, DAGGERS);

type Form = (inside: string) => string;

const dollar: Form = (inside) => `$${inside}`;
const braced: Form = (inside) => `\${${inside}}`;
const mustache: Form = (inside) => `{{${inside}}}`;
const spacedMustache: Form = (inside) => `{{ ${inside}\t}}`;
const dagger: Form = (inside) => `†${inside}`;

const DOLLAR_FORMS = [dollar, dollar, braced];
const ALL_FORMS = [dollar, dollar, dollar, braced, braced, mustache, spacedMustache, dagger];

const escaped: Form = (reference) => `\\${reference}`;
const doublyEscaped: Form = (reference) => `\\\\${reference}`;
const asMathematics: Form = (reference) => `${reference}$`;
const onItsLine: Form = (reference) => `\n${reference}\n`;
const indented: Form = (reference) => `\r\n  ${reference}\r\n`;
const asIs: Form = (reference) => reference;

const DECORATIONS = [asIs, asIs, asIs, asIs, escaped, doublyEscaped, asMathematics];
DECORATIONS.push(onItsLine, indented);

export type Random = () => number;

/** mulberry32: fast, and 32 bits of state are enough here. */
export function randomFrom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function pick<Choice>(random: Random, choices: readonly Choice[]): Choice {
  return choices[Math.floor(random() * choices.length)] as Choice;
}

function randomReference(random: Random, forms: readonly Form[]): string {
  let inside = pick(random, random() < 0.9 ? NAMES : UNKNOWN_NAMES);
  while (random() < 0.35) inside += pick(random, random() < 0.85 ? SEGMENTS : BROKEN_SEGMENTS);
  const written = pick(random, DECORATIONS)(pick(random, forms)(inside));
  if (random() < 0.9) return written;
  const lost = Math.floor(random() * written.length);
  return written.slice(0, lost) + written.slice(lost + 1);
}

function randomPiece(random: Random, forms: readonly Form[], kinds: readonly string[][]): string {
  const choice = random();
  if (choice < 0.35) return randomReference(random, forms);
  if (choice < 0.7 || kinds.length === 0) return pick(random, GLUE);
  return pick(random, pick(random, kinds));
}

/** A text that ends within a surrogate pair is one that no model writes. */
function withoutHalfPair(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}

/** References whose length is near the limit at which a match must be decided. */
const LONG_FORMS: readonly Form[] = [
  (filler) => `$odd['${filler}']`,
  (filler) => `$odd['${filler}`,
  (filler) => `$weather.${filler}`,
  (filler) => `$ids[${filler.replaceAll("k", "9")}:]`,
  (filler) => `\${odd["${filler}"]}`,
  (filler) => `\\\${odd.${filler}}`,
  (filler) => `{{${filler.replaceAll("k", " ")}x }}`,
  (filler) => `†odd.${filler}`,
];

/**
 * Returns a text of 1 to 120 characters, and seldom a long reference after it, determined by the seed. Each text uses only a few kinds of pieces;
 * if all were in every text, nearly every reference would be in code or a URL.
 */
export function randomText(seed: number): string {
  const random = randomFrom(seed);
  const length = 1 + Math.floor(random() * 120);
  const forms = random() < 0.6 ? DOLLAR_FORMS : ALL_FORMS;
  const kinds = KINDS.filter(() => random() < 0.2);
  let text = "";
  while (text.length < length) text += randomPiece(random, forms, kinds);
  const cut = withoutHalfPair(text.slice(0, length)) || "$";
  if (random() < 0.96) return cut;
  return cut + pick(random, LONG_FORMS)("k".repeat(480 + Math.floor(random() * 50)));
}

/** The same for fast-check. */
export const answerText: fc.Arbitrary<string> = fc.integer().map(randomText);

/** Sometimes a subset of the fixed variables, so that the other names are unknown. */
export const variableSet: fc.Arbitrary<Variables> = fc.oneof(
  fc.constant(fixedVariables),
  fc.subarray(Object.entries(fixedVariables)).map((entries) => Object.fromEntries(entries)),
);
