import { dagger } from "./dagger.ts";
import { dollar } from "./dollar.ts";
import { mustache } from "./mustache.ts";
import type { Syntax } from "./reference.ts";
import { target } from "./target.ts";

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
