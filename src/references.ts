export { expandText, type ExpandOptions, type Unresolved } from "./reference/expand.ts";
export { parsePath } from "./reference/grammar.ts";
export { lookupIn } from "./reference/lookup-in.ts";
export type {
  Found,
  Lookup,
  Match,
  Missing,
  Reference,
  Syntax,
  View,
} from "./reference/reference.ts";
export {
  ReferenceProblem,
  type Resolution,
  type ResolveOptions,
  resolveReferences,
} from "./reference/resolve.ts";
export type { SyntaxName } from "./reference/syntaxes.ts";
export type { Json } from "./value/json.ts";
export { formatPath, type Path, readPath, type Reading, type Segment } from "./value/path.ts";
