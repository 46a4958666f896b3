import { dagger } from "./dagger.ts";
import { dollar } from "./dollar.ts";
import { mustache } from "./mustache.ts";
import type { Syntax } from "./reference.ts";
import { target } from "./target.ts";

const syntaxes = { dollar, mustache, dagger, target } as const;

/** The built-in syntaxes, by name. */
export type SyntaxName = keyof typeof syntaxes;

/** Returns the requested syntaxes, given by name or as objects. Default: dollar. */
export function pickSyntaxes(
  names: readonly (SyntaxName | Syntax)[] = ["dollar"],
): readonly Syntax[] {
  return names.map((name) => (typeof name === "string" ? syntaxes[name] : name));
}
