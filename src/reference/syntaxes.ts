import { dagger } from "./dagger.ts";
import { dollar } from "./dollar.ts";
import { mustache } from "./mustache.ts";
import type { Syntax } from "./reference.ts";
import { target } from "./target.ts";

const syntaxes = { dollar, mustache, dagger, target } as const;

/** The syntaxes that ship, by name. */
export type SyntaxName = keyof typeof syntaxes;

/** The syntaxes asked for, by name or as one's own; the dollar syntax if nothing is asked for. */
export function pickSyntaxes(
  names: readonly (SyntaxName | Syntax)[] = ["dollar"],
): readonly Syntax[] {
  return names.map((name) => (typeof name === "string" ? syntaxes[name] : name));
}
