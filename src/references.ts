export { ByrefError, type ErrorCode } from "./errors.ts";
export * as limits from "./limits.ts";
export {
  createExpander,
  type ExpandOptions,
  type ExpansionBudget,
  expandText,
  type PushExpander,
  type Unresolved,
} from "./reference/expand.ts";
export { matchName, matchPath, parsePath } from "./reference/grammar.ts";
export { lookupIn } from "./reference/lookup-in.ts";
export {
  type Alternatives,
  type Match,
  NONE,
  type Operand,
  PARTIAL,
  type Reference,
  type Syntax,
  type View,
} from "./reference/reference.ts";
export type { Found, Lookup, Missing } from "./reference/lookup.ts";
export { type Mention, type MentionOptions, referencesIn } from "./reference/references-in.ts";
export { ReferenceProblem } from "./reference/reference-problem.ts";
export {
  type Interpolation,
  interpolate,
  type Resolution,
  type ResolveOptions,
  resolveReferences,
} from "./reference/resolve.ts";
export type { SyntaxName } from "./reference/syntaxes.ts";
export type { Json } from "./value/json.ts";
export { formatPath, type Path, readPath, type Reading, type Segment } from "./value/path.ts";
