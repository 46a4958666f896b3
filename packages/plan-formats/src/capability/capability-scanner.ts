import { parseXml, XmlError, XmlCdata, type XmlElement, XmlText } from "@rgrove/parse-xml";
import * as limits from "../../../../src/limits.ts";
import { CodeTracker, characters, json, variableNames } from "../../../../src/internal.ts";
import { RESERVED_NAMES } from "../../../plans/src/plan/plan-record.ts";
import type { Json } from "../../../../src/references.ts";

export interface WrittenCall {
  readonly call: CapabilityCall;
  /** The tag as the model wrote it. */
  readonly source: string;
}

const OPENINGS = ["<capability", "<!--"];
/** The start of a tag, with what follows its name, or of a comment. */
export const OPENED = /^<(?:capability[ \t-\r/>]|!--)/;
const COMMENT = "<!--(?:(?!-->)[^])*-->";
const ATTRIBUTES = `(?:[^<>"'/]|/(?!>)|"[^"]*"|'[^']*')*`;
const END = "</capability[ \\t-\\r]*>";
const BODY = `(?:[^<]|${COMMENT}|<!\\[CDATA\\[(?:(?!\\]\\]>)[^])*\\]\\]>|<(?!${END.slice(1)}|!--|!\\[CDATA\\[))*`;
/** A tag to its end, valid or not, or one that another tag follows before its end. */
const TAG = `<capability${ATTRIBUTES}(?:(?=<)|/>|>${BODY}${END})`;
const WHOLE = new RegExp(`^(?:${COMMENT}|${TAG})`);

/** The tag that begins at an offset of a text, and what there is to skip before it. */
export const tagAt = new RegExp(TAG, "y");
export const skippedAt = new RegExp(`(?:\\s|${COMMENT})+`, "y");

/**
 * Splits a model's text, which arrives in chunks, into text to show and calls to make. The result does not
 * depend on where chunks begin and end. Holds back only text that may still become a call or a comment, at most
 * `maxPieceChars`. A broken tag stays text to its end, and so do tags in Markdown code and in comments.
 */
export class CapabilityScanner {
  readonly #code = new CodeTracker();
  #held = "";
  #pieces: (string | WrittenCall)[] = [];

  /** Adds a chunk. Returns the pieces that are complete now, in order. */
  feed(chunk: string): readonly (string | WrittenCall)[] {
    this.#pieces = [];
    const text = this.#held + chunk;
    // Without such a character, what is held is still open.
    const mayEnd = /[<>]/.test(chunk) || text.length >= limits.maxPieceChars;
    this.#held = OPENED.test(this.#held) && !mayEnd ? text : this.#read(text);
    return this.#pieces;
  }

  /** Ends the text. Held characters become text. */
  end(): readonly (string | WrittenCall)[] {
    this.#pieces = [];
    this.#show(this.#held);
    this.#held = "";
    return this.#pieces;
  }

  /** Returns what is held. */
  #read(text: string): string {
    let rest = text;
    for (;;) {
      rest = rest.slice(this.#showText(rest));
      if (OPENINGS.some((one) => one.startsWith(rest))) return rest;
      const part = rest.slice(0, limits.maxPieceChars);
      const isOpened = OPENED.test(rest);
      const [source] = (isOpened ? WHOLE.exec(part) : null) ?? [];
      if (isOpened && source === undefined && rest.length < limits.maxPieceChars) return rest;
      const shown = source ?? (isOpened ? part : "<");
      const call = source === undefined ? undefined : calledIn(source);
      if (call === undefined) this.#show(shown);
      else this.#pieces.push({ call, source: shown });
      rest = rest.slice(shown.length);
    }
  }

  /** Shows the text up to a `<` outside of code. Returns its length. */
  #showText(text: string): number {
    let at = 0;
    while (at < text.length && (text[at] !== "<" || this.#code.inCode))
      this.#code.feed(text.charCodeAt(at++));
    this.#add(text.slice(0, at));
    return at;
  }

  #show(text: string): void {
    for (let at = 0; at < text.length; at++) this.#code.feed(text.charCodeAt(at));
    this.#add(text);
  }

  #add(text: string): void {
    const last = this.#pieces.at(-1);
    if (typeof last === "string") this.#pieces[this.#pieces.length - 1] = last + text;
    else if (text !== "") this.#pieces.push(text);
  }
}

/** Undefined for a comment, and for a tag that is not valid. */
function calledIn(source: string): CapabilityCall | undefined {
  try {
    return source.startsWith("<!--") ? undefined : callIn(source, /^<!\[/);
  } catch (error) {
    if (error instanceof XmlFault) return undefined;
    throw error;
  }
}

/** Reads a tag as a call. `declarations`: those that are not text. Throws XmlFault. */
export function callIn(source: string, declarations: RegExp): CapabilityCall {
  const escaped = withEscapes(source, declarations);
  try {
    const { root } = parseXml(escaped, { preserveCdata: true, includeOffsets: true });
    if (root === null) throw new XmlFault(MARKUP);
    return callOf(root);
  } catch (error) {
    const { message, offset } = faultIn(source, error);
    throw new XmlFault(message, escaped === source ? offset : 0);
  }
}

function faultIn(source: string, error: unknown): XmlFault {
  if (error instanceof XmlFault) return error;
  if (error instanceof RangeError) return new XmlFault("The tags are nested too deeply.");
  if (!(error instanceof XmlError)) throw error;
  const { message, pos } = error;
  const before = Array.from(source).slice(0, pos).join("");
  // The message has the position, which counts code points, and an excerpt at its end.
  return new XmlFault(`${message.slice(0, message.lastIndexOf(" (line "))}.`, before.length);
}

/**
 * Escapes what its author has not: each `<` that begins no markup, each `&` that begins none of XML's five entities,
 * `]]>`, and the line breaks and tabs of attributes, which XML reads as blanks.
 */
function withEscapes(source: string, declarations: RegExp): string {
  return source
    .replaceAll(/\r\n?/g, "\n")
    .replace(HEAD, (head) =>
      head.replaceAll(/"[^"]*"|'[^']*'/g, (quoted) =>
        quoted.replaceAll("\n", "&#10;").replaceAll("\t", "&#9;"),
      ),
    )
    .replaceAll(UNESCAPED, (found) =>
      declarations.test(found)
        ? found
        : found.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("]]>", "]]&gt;"),
    );
}

const HEAD = new RegExp(`^<capability${ATTRIBUTES}`);

/** Markup is a closing tag, a declaration, or an element's name with its end or its first attribute. */
const UNESCAPED =
  /<!\[CDATA\[[^]*?\]\]>|<!--[^]*?-->|\]\]>|<(?![/!?]|[A-Za-z_:][\w:.-]{0,99}(?:\s{0,99}\/?>|\s{1,99}[A-Za-z_:][\w:.-]{0,99}\s{0,99}=))|&(?!(?:#\d+|#x[\dA-Fa-f]+|lt|gt|amp|quot|apos);)/g;

/** A capability tag, read as a tool call. */
export interface CapabilityCall {
  /** The capability's name, with the action if the tag has one: `web_search`. */
  readonly tool: string;
  readonly name: string;
  readonly action?: string;
  readonly parameters: Readonly<Record<string, Json>>;
  readonly outputVariable?: string;
  /** The variables that the call writes: `output_var`, and the key of `variable set`. */
  readonly writes: readonly string[];
  /** The scope of these variables: one run, or the conversation. */
  readonly scope: "run" | "conversation";
}

/** An error in a tag. `offset`: where in the tag. */
export class XmlFault extends Error {
  readonly offset: number;

  constructor(message: string, offset = 0) {
    super(message);
    this.offset = offset;
  }
}

const VARIABLE = "variable";
const VARIABLE_ACTIONS = ["set", "get", "list", "interpolate", "clear", "clear_all"];

/**
 * Reads a tag as a call of `name_action`, or of `name`. The other attributes and the body (`content`) are its
 * parameters. Throws XmlFault.
 */
function callOf(element: XmlElement): CapabilityCall {
  const { name = "", action, output_var: output, ...given } = attributesIn(element.attributes);
  const body = bodyOf(element);
  if (name === "") throw new XmlFault("A capability needs a name.");
  requireAction(name, action);
  const isSet = name === VARIABLE && action === "set";
  const writes = [...(output === undefined ? [] : [output]), ...(isSet ? [given.key ?? ""] : [])];
  requireScope(name, given.scope, writes);
  requireNames(writes);
  if (body !== "" && Object.hasOwn(given, "content"))
    throw new XmlFault("The content is either an attribute or the body, not both.");
  // A tool may have its own `scope` parameter. Only the value "conversation" on a call that writes is ours.
  const isKept = given.scope === "conversation" && writes.length > 0;
  const { scope: _scope, ...others } = given;
  const parameters = isKept ? others : given;
  return {
    tool: action === undefined ? name : `${name}_${action}`,
    name,
    parameters: body === "" ? parameters : { ...parameters, content: body },
    ...json.compact({ action, outputVariable: output }),
    writes,
    scope: isKept ? "conversation" : "run",
  };
}

function requireAction(name: string, action: string | undefined): void {
  if (action === "")
    throw new XmlFault("An action has a name; leave the attribute out if there is none.");
  if (name !== VARIABLE || VARIABLE_ACTIONS.includes(action ?? "")) return;
  throw new XmlFault(`The actions of variable are ${VARIABLE_ACTIONS.join(", ")}.`);
}

/** The capability `variable` would ignore it. */
function requireScope(name: string, scope: string | undefined, writes: readonly string[]): void {
  if (name !== VARIABLE || scope === undefined || scope === "run") return;
  if (writes.length === 0) {
    const said = `The scope "${scope.slice(0, 80)}" has no effect here`;
    throw new XmlFault(`${said}: only calls that write take one.`);
  }
  if (scope !== "conversation") throw new XmlFault('The scope is "run" or "conversation".');
}

function requireNames(names: readonly string[]): void {
  for (const name of names) {
    if (RESERVED_NAMES.includes(name))
      throw new XmlFault(`"${name}" belongs to the run and cannot be written.`);
    if (variableNames.isValidName(name)) continue;
    const advice = "use letters, digits and underscores, the first not a digit.";
    throw new XmlFault(`"${name.slice(0, 80)}" is not a variable name: ${advice}`);
  }
}

/**
 * Separates the gates that a workflow's tag names in `_after` from its parameters. Throws XmlFault for any other
 * attribute that begins with `_`, because a tool may ignore it.
 */
export function ownAttributes({ _after: after, ...parameters }: CapabilityCall["parameters"]) {
  const unknown = Object.keys(parameters).find((name) => name.startsWith("_"));
  if (unknown !== undefined) {
    const shown = characters.clip(unknown, MAX_SHOWN_CHARS);
    throw new XmlFault(
      `There is no attribute ${shown}. A tag has _after and output_var, and its tool's parameters.`,
    );
  }
  if (after === undefined) return { parameters };
  // Gates are separated by blanks or commas.
  const gates = String(after).match(/\{\{[^{}]*\}\}|[^\s,]+/gu);
  if (gates === null) throw new XmlFault('_after names gates: _after="†approvals.name".');
  return { parameters, gates };
}

const MAX_SHOWN_CHARS = 80;

function attributesIn(attributes: XmlElement["attributes"]): Readonly<Record<string, string>> {
  const read = Object.entries(attributes);
  if (read.length > limits.maxBatchItems) {
    throw new XmlFault(
      `A tag has at most ${limits.maxBatchItems} attributes, this has ${read.length}.`,
    );
  }
  for (const [name, { length }] of read) {
    if (length <= limits.maxPieceChars) continue;
    const advice = `An attribute has at most ${limits.maxPieceChars} characters`;
    throw new XmlFault(`${advice}, "${name.slice(0, 80)}" has ${length}.`);
  }
  return Object.fromEntries(read);
}

/** The text of a body. CDATA stays as written; only blanks around it are removed. */
function bodyOf({ children }: XmlElement): string {
  const texts = children.map((child) => {
    if (!(child instanceof XmlText)) throw new XmlFault(MARKUP, child.start);
    return child;
  });
  if (!texts.some((one) => one instanceof XmlCdata))
    return withoutLayout(texts.map(({ text }) => text).join(""));
  return texts
    .map((one, at) => {
      if (one instanceof XmlCdata) return one.text;
      const text = at === 0 ? one.text.replace(BLANK_START, "") : one.text;
      return at === texts.length - 1 ? text.replace(BLANK_END, "") : text;
    })
    .join("");
}

const MARKUP =
  "A body is text: write markup in it as <![CDATA[…]]>, or its < as &lt;. Capability tags do not nest; is the one in front closed?";

/** What XML reads as blanks. Other spaces are text. */
const BLANK_START = /^[ \t\n]+/;
const BLANK_END = /(?<![ \t\n])[ \t\n]+$/;
const BLANK_LINE = /^[ \t]*$/;

/**
 * Removes the layout of the XML: blanks at both ends, and, of a text that begins below its tag, the indentation that
 * all lines share.
 */
function withoutLayout(text: string): string {
  const [before = ""] = BLANK_START.exec(text) ?? [];
  const rest = text.slice(before.length).replace(BLANK_END, "");
  const lineStart = before.lastIndexOf("\n") + 1;
  if (lineStart === 0) return rest;
  let shared = before.slice(lineStart);
  const lines = (shared + rest).split("\n");
  for (const line of lines)
    while (!BLANK_LINE.test(line) && !line.startsWith(shared)) shared = shared.slice(0, -1);
  return lines.map((line) => (BLANK_LINE.test(line) ? "" : line.slice(shared.length))).join("\n");
}
