import { isJsonArray, isJsonObject, type Json } from "../value/json.ts";
import { LookupWork, type Lookup } from "./lookup.ts";
import { type Operand, type Reference, type Syntax, wholeReference } from "./reference.ts";
import { Scanner } from "./scanner.ts";
import { pickSyntaxes, type Syntaxes } from "./syntaxes.ts";

/** A reference in a text, with its source. */
export interface Mention extends Reference {
  readonly source: string;
}

/** How references in a text are found. */
export interface MentionOptions {
  /** Default: dollar only. */
  readonly syntaxes?: Syntaxes;
  /** False: references in Markdown code are text, as in answers. Default: true, as in tool inputs. */
  readonly inCode?: boolean;
}

/**
 * Returns the references in a text, in the written order, if the lookup knows their names: their paths may
 * not exist, and their values may be evicted or secret. Text with the form of a reference but an unknown name
 * and escaped references are not among them. Looks each name up once. Rejects if the lookup does.
 */
export async function referencesIn(
  text: string,
  lookup: Lookup,
  { syntaxes: names, inCode = true }: MentionOptions = {},
): Promise<readonly Mention[]> {
  const syntaxes = pickSyntaxes(names);
  const work = new LookupWork();
  const known = new Map<string, boolean>();
  const isKnown = async (reference: Reference) => {
    const before = known.get(reference.name);
    if (before !== undefined) return before;
    const answer = await lookup(reference, work);
    const isFound = answer.found || answer.reason !== "unknown";
    known.set(reference.name, isFound);
    return isFound;
  };
  const wholes = syntaxes.filter(({ wholeOnly }) => wholeOnly === true);
  const whole = wholeReference(text, wholes);
  if (whole !== undefined && (await isKnown(whole.reference))) {
    return [{ source: text, ...whole.reference }];
  }
  const mentions: Mention[] = [];
  const scanner = new Scanner({ syntaxes, inCode });
  scanner.feed(text);
  scanner.end();
  for (let piece = scanner.next(); piece !== undefined; piece = scanner.next()) {
    if (typeof piece === "string") continue;
    const { source, reference, escaped } = piece;
    if (await isKnown(reference)) {
      if (!escaped) mentions.push({ source, ...reference });
      scanner.accept();
    } else {
      // Its path may contain another one: $nobody['$name'].
      scanner.reject();
    }
  }
  return mentions;
}

/** The references that one place of an input needs before it can be resolved. */
export interface Need {
  /** Keys and indices of the string that contains them, joined by dots. */
  readonly at: string;
  /** The source text. */
  readonly source: string;
  /** `all`: all of the references are needed. `first`: one of them is sufficient. */
  readonly operator: "all" | "first";
  readonly references: readonly Reference[];
}

/**
 * Returns every reference in the strings of a value without resolving any, so that a caller knows in
 * advance what `resolveReferences` will look up. A name may be unknown. Never throws: alternatives that mix
 * `||` and `&&` have no needs here, and fail when they are resolved.
 */
export function needsIn(value: Json, names?: Syntaxes): readonly Need[] {
  const syntaxes = pickSyntaxes(names);
  const needs: Need[] = [];
  const open: { readonly value: Json; readonly at: string }[] = [{ value, at: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: inner, at } = next;
    if (typeof inner === "string") {
      // One by one, because a call takes a limited number of arguments.
      for (const need of needsOf(inner, at, syntaxes)) needs.push(need);
    } else if (isJsonArray(inner) || isJsonObject(inner)) {
      const entries = Object.entries(inner).map(([key, child]) => ({
        value: child,
        at: at === "" ? key : `${at}.${key}`,
      }));
      // Reversed, because the last entry is visited first. The results are then in source order.
      for (const entry of entries.reverse()) open.push(entry);
    }
  }
  return needs;
}

function needsOf(text: string, at: string, syntaxes: readonly Syntax[]): readonly Need[] {
  if (!syntaxes.some(({ opening }) => text.includes(opening))) return [];
  const whole = wholeReference(text, syntaxes);
  if (whole !== undefined) return [needOf(at, whole)];
  for (const syntax of syntaxes) {
    const alternatives = syntax.alternatives?.(text);
    if (alternatives === undefined) continue;
    if (alternatives.operator === "mixed") return [];
    const references = alternatives.operands.map(({ reference }) => reference);
    return [{ at, source: text, operator: alternatives.operator, references }];
  }
  const scanner = new Scanner({ syntaxes, inCode: true });
  scanner.feed(text);
  scanner.end();
  const needs: Need[] = [];
  for (let piece = scanner.next(); piece !== undefined; piece = scanner.next()) {
    if (typeof piece === "string") continue;
    if (!piece.escaped) needs.push(needOf(at, piece));
    scanner.accept();
  }
  return needs;
}

function needOf(at: string, { source, reference }: Operand): Need {
  return { at, source, operator: "all", references: [reference] };
}
