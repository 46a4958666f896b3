import * as limits from "../limits.ts";
import type { Path } from "../value/path.ts";

/** A variable's name and a path into its value. */
export interface Reference {
  readonly name: string;
  readonly path: Path;
}

/** The text that a syntax matches. */
export interface View {
  readonly text: string;
  /** The offset of the opening. */
  readonly start: number;
  /** The end of the readable text. Text at or after this offset has not arrived, or exceeds the limit. */
  readonly limit: number;
  /** True if no text follows at `limit`. */
  readonly ended: boolean;
  /** Character code before the opening (or before its backslash, if escaped); -1 at the start of the text. */
  readonly before: number;
  /** False if no name of the conversation starts with the prefix; true if unknown. */
  readonly couldBegin: (prefix: string) => boolean;
  /** False if no variable has, or had, this name; true if unknown. */
  readonly isKnown: (name: string) => boolean;
}

/** Creates the view of a complete text, from `start` up to its end. */
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

/** Parses a text as exactly one reference, in the first syntax that matches. */
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
 * The result of a syntax: plain text, undecided at `limit`, or a reference that ends before `end`. A syntax
 * reads forward only, and a decision must not change when more text is in view.
 */
export type Match =
  | { readonly kind: "none" }
  | { readonly kind: "partial" }
  | { readonly kind: "whole"; readonly end: number; readonly reference: Reference };

/** No reference begins here. */
export const NONE: Match = { kind: "none" };
/** A reference may begin here, depending on the text that follows. */
export const PARTIAL: Match = { kind: "partial" };

/** A syntax of references. Those of the runtime are in `syntaxes.ts`. */
export interface Syntax {
  readonly name: string;
  /** The first character of every reference. */
  readonly opening: string;
  /** Matches a reference at `view.start`, the offset of `opening`. */
  match(view: View): Match;
  /** Only a whole string is a reference, never a part of a longer text. */
  readonly wholeOnly?: true;
  /** Parses a whole string as several references joined by an operator; undefined for other text. */
  alternatives?(text: string): Alternatives | undefined;
}

/**
 * `first`: the value of the first operand that exists. `all`: every operand must exist; the value is that
 * of the last one.
 */
export type Alternatives =
  | { readonly operator: "first" | "all"; readonly operands: readonly Operand[] }
  | { readonly operator: "mixed" };

/** One of several references joined by `||` or `&&`, with its source text. */
export interface Operand {
  readonly source: string;
  readonly reference: Reference;
}
