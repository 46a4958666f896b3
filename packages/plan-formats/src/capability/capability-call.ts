import { RESERVED_NAMES } from "../../../plans/src/plan/run-names.ts";
import * as limits from "../../../../src/limits.ts";
import { characters, json, nearest, variableNames } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import { parseXml, XmlCdata, type XmlElement, XmlError, XmlText } from "@rgrove/parse-xml";

/** A capability tag, read as a tool call. */
export interface CapabilityCall {
  readonly tool: string;
  readonly parameters: Readonly<Record<string, Json>>;
  readonly outputVariable?: string;
  /** The variables that the call writes: `output_var`, and the key of `variable set`. */
  readonly writes: readonly string[];
  /** The scope of these variables: one run, or the conversation. */
  readonly scope: "run" | "conversation";
}

type CallReading =
  | { readonly call: CapabilityCall; readonly fault?: undefined }
  | { readonly call?: undefined; readonly fault: string };

const VARIABLE = "variable";
const VARIABLE_ACTIONS = ["set", "get", "list", "interpolate", "clear", "clear_all"];

/**
 * Reads a tag as a call of `name_action`, or of `name`. The other attributes and the body (`content`) are its
 * parameters.
 */
export function callOf({ attributes, body }: CapabilityTag): CallReading {
  const { name, action, output_var: output, ...given } = Object.fromEntries(attributes);
  const isSet = name === VARIABLE && action === "set";
  const writes = [...(output === undefined ? [] : [output]), ...(isSet ? [given.key ?? ""] : [])];
  const fault =
    faultIn({ name, action }) ??
    faultInScope(name, given.scope, writes) ??
    faultInNames(writes) ??
    (body !== "" && Object.hasOwn(given, "content")
      ? "The content is either an attribute or the body, not both."
      : undefined);
  if (fault !== undefined) return { fault };
  // A tool may have its own `scope` parameter. Only the value "conversation" on a call that writes is ours.
  const isKept = given.scope === "conversation" && writes.length > 0;
  const { scope: _scope, ...others } = given;
  const parameters = isKept ? others : given;
  return {
    call: {
      tool: action === undefined ? `${name}` : `${name}_${action}`,
      parameters: body === "" ? parameters : { ...parameters, content: body },
      ...json.compact({ outputVariable: output }),
      writes,
      scope: isKept ? "conversation" : "run",
    },
  };
}

function faultIn(tag: {
  name: string | undefined;
  action: string | undefined;
}): string | undefined {
  if (tag.name === undefined || tag.name === "") return "A capability needs a name.";
  if (tag.action === "") return "An action has a name; leave the attribute out if there is none.";
  if (tag.name !== VARIABLE || VARIABLE_ACTIONS.includes(tag.action ?? "")) return undefined;
  return `The actions of variable are ${VARIABLE_ACTIONS.join(", ")}.`;
}

/** The capability `variable` would ignore it. */
function faultInScope(
  name: string | undefined,
  scope: string | undefined,
  writes: readonly string[],
): string | undefined {
  if (name !== VARIABLE || scope === undefined || scope === "run") return undefined;
  if (writes.length === 0)
    return `The scope "${scope.slice(0, 80)}" has no effect here: only calls that write take one.`;
  return scope === "conversation" ? undefined : SCOPES;
}

const SCOPES = 'The scope is "run" or "conversation".';

function faultInNames(names: readonly string[]): string | undefined {
  for (const name of names) {
    if (RESERVED_NAMES.includes(name)) return `"${name}" belongs to the run and cannot be written.`;
    if (!variableNames.isValidName(name)) {
      return `"${name.slice(0, 80)}" is not a variable name: use letters, digits and underscores, the first not a digit.`;
    }
  }
  return undefined;
}

type OwnAttributes =
  | {
      readonly parameters: CapabilityCall["parameters"];
      readonly gates?: readonly string[];
      readonly fault?: undefined;
    }
  | { readonly fault: string };

/**
 * Separates the gates that a workflow's tag names in `_after` from its parameters. Any other attribute that
 * begins with `_` is a fault, because a tool may ignore it.
 */
export function ownAttributes({
  _after: after,
  ...parameters
}: CapabilityCall["parameters"]): OwnAttributes {
  const unknown = Object.keys(parameters).find((name) => name.startsWith("_"));
  if (unknown !== undefined) {
    const near = nearest(unknown, OWN_ATTRIBUTES)[0] ?? (unknown.startsWith("_o") ? OUTPUT : AFTER);
    return {
      fault: `There is no attribute ${characters.clip(unknown, MAX_SHOWN_CHARS)}; the nearest is ${near}. Of those that begin with _, a tag has only ${AFTER}.`,
    };
  }
  if (after === undefined) return { parameters };
  // Gates are separated by blanks or commas.
  const gates = String(after).match(/\{\{[^{}]*\}\}|[^\s,]+/gu);
  if (gates !== null) return { parameters, gates };
  return { fault: `${AFTER} names gates: ${AFTER}="†approvals.name".` };
}

const AFTER = "_after";
const OUTPUT = "output_var";
const OWN_ATTRIBUTES = [AFTER, OUTPUT];
const MAX_SHOWN_CHARS = 80;

export interface CapabilityTag {
  readonly attributes: ReadonlyMap<string, string>;
  /** Empty for a tag without a body. */
  readonly body: string;
}

/** An error, and its offset in the text in characters. */
export interface XmlFault {
  readonly offset: number;
  readonly message: string;
}

export type TagReading =
  | { readonly tag: CapabilityTag; readonly fault?: undefined }
  | { readonly tag?: undefined; readonly fault: XmlFault };

/** Normalises line breaks as XML does, so that offsets stay valid. */
export function withLineFeeds(source: string): string {
  return source.replaceAll(/\r\n?/g, "\n");
}

/**
 * Reads one tag, from its `<` to its end. Does not look for nested elements, because `TagBounds` has rejected
 * them.
 */
export function readTag(source: string): TagReading {
  // The parser would also normalise line breaks, in time quadratic in their number.
  const text = withLineFeeds(source);
  try {
    const { root } = parseXml(text, { preserveCdata: true });
    return root === null ? faultAt(0, "There is no tag.") : tagOf(root);
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    // The parser's message has the position and an excerpt at its end.
    const end = error.message.lastIndexOf(" (line ");
    return faultAt(offsetOf(text, error.pos), `${error.message.slice(0, end)}.`);
  }
}

function tagOf({ attributes, children }: XmlElement): TagReading {
  const read = new Map(Object.entries(attributes));
  if (read.size > limits.maxBatchItems) {
    return faultAt(
      0,
      `A tag has at most ${limits.maxBatchItems} attributes, this has ${read.size}.`,
    );
  }
  for (const [name, { length }] of read) {
    if (length <= limits.maxPieceChars) continue;
    const advice = `An attribute has at most ${limits.maxPieceChars} characters`;
    return faultAt(0, `${advice}, "${name.slice(0, 80)}" has ${length}.`);
  }
  const parts: BodyPart[] = [];
  for (const child of children) {
    if (!(child instanceof XmlText)) continue;
    parts.push({ text: child.text, verbatim: child instanceof XmlCdata });
  }
  return { tag: { attributes: read, body: withoutLayout(parts) } };
}

function faultAt(offset: number, message: string): TagReading {
  return { fault: { offset, message } };
}

/**
 * Converts a parser offset. The parser's offset counts a character above U+FFFF once; its lines and columns
 * do not.
 */
function offsetOf(text: string, most: number): number {
  let offset = 0;
  for (let count = 0; count < most && offset < text.length; count++) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  }
  return offset;
}

/** A stretch of a tag's body. `verbatim`: it was in CDATA. */
interface BodyPart {
  readonly text: string;
  readonly verbatim: boolean;
}

/**
 * Removes the layout of the XML from a body: blanks at both ends, and the indentation that all lines after
 * the first share. CDATA content stays as written; only blanks around it are removed.
 */
function withoutLayout(parts: readonly BodyPart[]): string {
  const last = parts.length - 1;
  if (!parts.some(({ verbatim }) => verbatim)) {
    return withoutIndentation(parts.map(({ text }) => text).join("")).trim();
  }
  return parts
    .map((part, index) => trimmed(part, { first: index === 0, last: index === last }))
    .join("");
}

function trimmed({ text, verbatim }: BodyPart, place: { first: boolean; last: boolean }): string {
  if (verbatim) return text;
  const fromStart = place.first ? text.trimStart() : text;
  return place.last ? fromStart.trimEnd() : fromStart;
}

function withoutIndentation(text: string): string {
  const [first = "", ...lines] = text.split("\n");
  let indentation: string | undefined;
  for (const line of lines) {
    if (line.trim() === "") continue;
    const own = line.slice(0, line.length - line.trimStart().length);
    indentation = indentation === undefined ? own : commonStart(indentation, own);
  }
  const indented = indentation?.length ?? 0;
  const rest = lines.map((line) => (line.trim() === "" ? "" : line.slice(indented)));
  return [first, ...rest].join("\n");
}

function commonStart(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return left.slice(0, length);
}
