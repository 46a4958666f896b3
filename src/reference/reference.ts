import * as limits from "../limits.ts";
import type { Path } from "../value/path.ts";

/** A variable's name and a path into its value. */
export interface Reference {
  readonly name: string;
  readonly path: Path;
}

/** What a syntax is given to look at. */
export interface View {
  readonly text: string;
  /** Where the opening stands. */
  readonly start: number;
  /** Nothing at or after this offset may be looked at: it has not arrived, or it is over the bound. */
  readonly limit: number;
  /** No text follows at `limit`. */
  readonly ended: boolean;
  /** Character code in front of the opening (of its backslash, if escaped); -1 at the text's start. */
  readonly before: number;
  /** False if no name of the conversation starts so; true when not known. */
  readonly couldBegin: (prefix: string) => boolean;
  /** False if no variable has, or had, this name; true when not known. */
  readonly isKnown: (name: string) => boolean;
}

/** The view of a text that is all there: what stands at `start` may reach up to its end. */
export function wholeView(text: string, start: number): View {
  const isInView = text.length - start < limits.maxHeldChars;
  return {
    text,
    start,
    limit: isInView ? text.length : start + limits.maxHeldChars,
    ended: isInView,
    before: -1,
    couldBegin: () => true,
    isKnown: () => true,
  };
}

/** The reference that is all of the text, in the first of the syntaxes in which it is one. */
export function wholeReference(text: string, syntaxes: readonly Syntax[]): Operand | undefined {
  for (const syntax of syntaxes) {
    if (!text.startsWith(syntax.opening)) continue;
    const match = syntax.match(wholeView(text, 0));
    if (match.kind === "whole" && match.end === text.length) {
      return { source: text, reference: match.reference };
    }
  }
  return undefined;
}

/**
 * What a syntax answers: plain text, not decided before `limit`, or a reference that ends before `end`.
 * A syntax looks forward only, and what it decided once it would decide again with more text in view.
 */
export type Match =
  | { readonly kind: "none" }
  | { readonly kind: "partial" }
  | { readonly kind: "whole"; readonly end: number; readonly reference: Reference };

/** No reference begins here. */
export const NONE: Match = { kind: "none" };
/** One may begin here: what follows will tell. */
export const PARTIAL: Match = { kind: "partial" };

/** A way of writing references. One file and one row in `syntaxes.ts` each. */
export interface Syntax {
  readonly name: string;
  /** The first character of every reference. */
  readonly opening: string;
  /** The reference at `view.start`, where `opening` stands. */
  match(view: View): Match;
  /** Only a whole string is a reference, never a part of a longer text. */
  readonly wholeOnly?: true;
  /** A whole string as several references joined by an operator; undefined if it is not that. */
  alternatives?(text: string): Alternatives | undefined;
}

/** `first`: the first operand that exists. `all`: every operand has to exist, the last one is meant. */
export type Alternatives =
  | { readonly operator: "first" | "all"; readonly operands: readonly Operand[] }
  | { readonly operator: "mixed" };

/** One of several places that `||` or `&&` joins, and how it was written. */
export interface Operand {
  readonly source: string;
  readonly reference: Reference;
}
