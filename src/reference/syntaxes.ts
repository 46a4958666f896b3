import * as ascii from "../value/ascii.ts";
import { isWordCode } from "../value/characters.ts";
import { matchReference } from "./grammar.ts";
import {
  type Alternatives,
  NONE,
  type Operand,
  PARTIAL,
  type Syntax,
  wholeView,
} from "./reference.ts";

/** `$name.path` and `${name.path}`. */
export const dollar: Syntax = {
  name: "dollar",
  opening: "$",
  match(view) {
    if (view.before === ascii.DOLLAR || isWordCode(view.before)) return NONE;
    const next = view.start + 1;
    const isBraced = view.text[next] === "{";
    const match = matchReference(view, isBraced ? next + 1 : next);
    if (match.kind !== "whole") return match;
    const closing = view.text[match.end];
    if (isBraced) return closing === "}" ? { ...match, end: match.end + 1 } : NONE;
    // A dollar sign directly after it makes it mathematics.
    return closing === "$" ? NONE : match;
  },
};

/** `{{ name.path }}`, with optional spaces and tabs inside the braces. */
export const mustache: Syntax = {
  name: "mustache",
  opening: "{",
  match(view) {
    const { text, limit, ended } = view;
    const undecided = ended ? NONE : PARTIAL;
    const second = view.start + 1;
    if (second >= limit) return undecided;
    if (text[second] !== "{") return NONE;
    const match = matchReference(view, skipBlanks(text, second + 1, limit));
    if (match.kind !== "whole") return match;
    const close = skipBlanks(text, match.end, limit);
    for (let at = close; at < close + 2; at++) {
      if (at >= limit) return undecided;
      if (text[at] !== "}") return NONE;
    }
    return { ...match, end: close + 2 };
  },
};

/** Returns the end of the spaces and tabs that begin at `start`. */
function skipBlanks(text: string, start: number, limit = text.length): number {
  let at = start;
  while (at < limit && (text[at] === " " || text[at] === "\t")) at++;
  return at;
}

/** `†name.path`; as a whole string also `†a || †b` and `†a && †b`. */
export const dagger: Syntax = {
  name: "dagger",
  opening: "†",
  match: (view) => matchReference(view, view.start + 1),
  alternatives,
};

function alternatives(text: string): Alternatives | undefined {
  const operands: Operand[] = [];
  const operators = new Set<string>();
  let at = 0;
  for (;;) {
    const operand = operandAt(text, at);
    if (operand === undefined) return undefined;
    operands.push(operand.operand);
    if (operand.end === text.length) break;
    at = skipBlanks(text, operand.end);
    const operator = text.slice(at, at + 2);
    if (operator !== "||" && operator !== "&&") return undefined;
    operators.add(operator);
    at = skipBlanks(text, at + 2);
  }
  if (operands.length < 2) return undefined;
  if (operators.size > 1) return { operator: "mixed" };
  return { operator: operators.has("||") ? "first" : "all", operands };
}

function operandAt(text: string, start: number): { operand: Operand; end: number } | undefined {
  if (text[start] !== "†") return undefined;
  const match = dagger.match(wholeView(text, start));
  if (match.kind !== "whole") return undefined;
  const source = text.slice(start, match.end);
  return { operand: { source, reference: match.reference }, end: match.end };
}

const PREFIX = "variable:";

/** `variable:name.path`, only as a whole string, so no text follows. (`file:` targets are storage, not references.) */
export const target: Syntax = {
  name: "target",
  opening: "v",
  wholeOnly: true,
  match: (view) =>
    view.text.startsWith(PREFIX, view.start)
      ? matchReference({ ...view, ended: true }, view.start + PREFIX.length)
      : NONE,
};

const syntaxes = { dollar, mustache, dagger, target } as const;

/** The built-in syntaxes, by name. */
export type SyntaxName = keyof typeof syntaxes;

/** Syntaxes by name, or of an application. */
export type Syntaxes = readonly (SyntaxName | Syntax)[];

/** Functions that write a reference, for syntaxes that can be used in the middle of a text. */
const written = {
  dollar: (reference: string) => `$${reference}`,
  mustache: (reference: string) => `{{${reference}}}`,
  dagger: (reference: string) => `†${reference}`,
} as const;

/** The built-in syntaxes that can be used in a text. */
export const inTexts = ["dollar", "mustache", "dagger"] as const;

/**
 * Returns how a model that may use these syntaxes writes a name with its path: in the first of
 * `inTexts` that is among them. Undefined if there is none.
 */
export function writerIn(
  names: Syntaxes = ["dollar"],
): ((reference: string) => string) | undefined {
  const first = inTexts.find((name) => names.includes(name));
  return first && written[first];
}

/** Returns the requested syntaxes, given by name or as objects. Default: dollar. */
export function pickSyntaxes(names: Syntaxes = ["dollar"]): readonly Syntax[] {
  return names.map((name) => (typeof name === "string" ? syntaxes[name] : name));
}
