import { ByrefError, limitExceeded } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { dollar } from "../../reference/dollar.ts";
import type { LookupWork } from "../../reference/lookup.ts";
import { type Reference, wholeView } from "../../reference/reference.ts";
import { problemFrom } from "../../reference/resolve.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { Glance } from "../../store/variable.ts";
import { type Json, parsedJson } from "../../value/json.ts";
import type { Labels } from "../../store/labels.ts";
import type { RuntimeToolContext } from "../runtime-tool.ts";
import type { NamedText } from "./sandbox.ts";
import { usable } from "../variables/variable-target.ts";
import { lookupInStore } from "../store-lookup.ts";

/** What code is given under the names that it asked for. */
export interface CodeInputs {
  readonly values: readonly NamedText[];
  readonly large: readonly NamedText[];
}

/**
 * Its errors reveal nothing of the values: `variable_unknown`, `variable_evicted`, `variable_secret`, and
 * `bad_name` for what cannot be a name in code.
 */
export function requireInputs(store: Variables, names: readonly string[]): void {
  for (const name of names) {
    requireCodeName(name);
    usable(store, name);
  }
}

/** The named variables as the sandbox takes them. Throws as reading them does, and `limit_exceeded`. */
export async function readInputs(
  { store, labels }: Pick<RuntimeToolContext, "store" | "labels">,
  names: readonly string[],
): Promise<CodeInputs> {
  const values: NamedText[] = [];
  const large: NamedText[] = [];
  let chars = 0;
  for (const name of names) {
    const glance = store.glance(name);
    const isLarge = glance !== undefined && glance.bytes > limits.maxWholeCodeBytes;
    if (isLarge) {
      large.push([name, aboutLarge(store, { name, glance })]);
      continue;
    }
    const text = await readText(store, { name, path: [] }, { labels });
    chars += text.length;
    requireRoom(chars, "Name fewer variables, or the large ones in another call.");
    values.push([name, text]);
  }
  return { values, large };
}

interface Reader extends Pick<RuntimeToolContext, "store" | "labels"> {
  /** A part of what all reads of the run may cost. */
  readonly work: LookupWork;
}

/** A part of a value as JSON text; the path as it is written behind a name. Throws as a reference does. */
export async function readPart(
  { store, labels, work }: Reader,
  name: string,
  path: string,
): Promise<string> {
  const source = `$${name}${path}`;
  const match = dollar.match(wholeView(source, 0));
  const isWhole = match.kind === "whole" && match.end === source.length;
  if (!isWhole || match.reference.name !== name) {
    throw new ByrefError("bad_path", "A path is written as behind a name: [0].total, [10:20].");
  }
  const text = await readText(store, match.reference, { labels, work });
  work.spend(text.length);
  requireRoom(text.length, "Read smaller parts of it.");
  return text;
}

/** Its labels are those of the version that is read. */
async function readText(
  store: Variables,
  reference: Reference,
  { labels, work }: { readonly labels: Labels; readonly work?: LookupWork },
): Promise<string> {
  const lookup = lookupInStore(store, { onUsed: (name) => labels.add(name) });
  const found = await lookup(reference, work);
  if (!found.found) throw problemFrom(`$${reference.name}`, found);
  return JSON.stringify(found.value);
}

function aboutLarge(
  store: Variables,
  { name, glance }: { readonly name: string; readonly glance: Glance },
): string {
  if (glance.visibility === "secret") {
    throw problemFrom(`$${name}`, { found: false, reason: "secret" });
  }
  if (glance.type === "bytes") {
    throw new ByrefError("bad_value", `$${name} is bytes; code is given JSON and text only.`);
  }
  const { type, bytes, count = 0 } = { ...store.info(name), ...glance };
  const about: Json = { type, count, bytes };
  return JSON.stringify(about);
}

function requireRoom(actual: number, advice: string): void {
  if (actual <= limits.maxCodeCrossingChars) return;
  throw limitExceeded("maxCodeCrossingChars", {
    maximum: limits.maxCodeCrossingChars,
    actual,
    advice,
  });
}

/** Words of the language, and what the code has anyway. */
const TAKEN = new Set(
  (
    "arguments async await break case catch class const continue debugger default delete do else " +
    "enum eval export extends false finally for function if implements import in instanceof " +
    "interface let new null package private protected public return static super switch this " +
    "throw true try typeof undefined var void while with yield tools vars console"
  ).split(" "),
);

function requireCodeName(name: string): void {
  if (!TAKEN.has(name)) return;
  throw new ByrefError(
    "bad_name",
    `"${name}" means something else in code; copy it to another name.`,
  );
}

/** As JSON text may hold more arrays and objects than memory does, they are counted before it is parsed. */
export function parseResult(text: string): Json {
  let containers = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) isInString = !isInString;
    else if (code === BACKSLASH) index++;
    else if (!isInString && (code === BRACKET || code === BRACE)) containers++;
  }
  if (containers > limits.maxContainers) {
    const sizes = { maximum: limits.maxContainers, actual: containers };
    throw limitExceeded("maxContainers", { ...sizes, advice: "Return flatter data, or text." });
  }
  return parsedJson(text);
}

const QUOTE = 34;
const BACKSLASH = 92;
const BRACKET = 91;
const BRACE = 123;
