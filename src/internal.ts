/**
 * What the packages take from the folders of `src`, beside the public names in `runtime.ts` and `references.ts`. Not for
 * applications: a name may change with any commit. This file needs no package of npm; `internal-tool.ts` needs `ai` and
 * `zod`, `internal-edge.ts` needs Workers.
 */

// Values: JSON, texts, numbers with all digits, bytes, previews, time limits.
export * as json from "./value/json.ts";
export * as characters from "./value/characters.ts";
export * as exactNumbers from "./value/exact-number.ts";
export * as encoding from "./value/encoding.ts";
export { ByteBuffer } from "./value/byte-buffer.ts";
export { joinBytes, streamOf } from "./value/bytes.ts";
export { csvText } from "./value/csv-text.ts";
export { Deadline, unlessAborted, withTimeLimit } from "./value/deadline.ts";
export { charsOf } from "./value/json-text.ts";
export type { PatchOperation } from "./value/json-patch.ts";
export { type Figure, figuresBeyond, figuresIn } from "./value/figures.ts";
export * as parsedShapes from "./value/parse-shape.ts";
export { Recent } from "./value/recent.ts";
export { renderText } from "./value/render.ts";
export { requireJson } from "./value/require-json.ts";
export { shapeOf } from "./value/shape.ts";
export { shortHash } from "./value/short-hash.ts";
export { toJson } from "./value/to-json.ts";
export { distinctNames } from "./value/distinct-names.ts";
export { requireWellFormed } from "./value/well-formed.ts";
export { Work } from "./value/work.ts";

// References: what an answer, a template or code needs of the engine, beyond `references.ts`.
export { CodeTracker } from "./reference/code-tracker.ts";
export { TextsExpander } from "./reference/expand-texts.ts";
export { LookupWork } from "./reference/lookup.ts";
export { nearest } from "./reference/near.ts";
export { needsIn, type Need } from "./reference/references-in.ts";
export * as referenceProblems from "./reference/reference-problem.ts";
export * as referenceTexts from "./reference/reference.ts";
export type { Place } from "./reference/resolve.ts";
export { Scanner } from "./reference/scanner.ts";
export { dollar, inTexts, pickSyntaxes, type Syntaxes, writerIn } from "./reference/syntaxes.ts";

// The store: variables, their labels and bytes, and the SQL that they are stored in.
export * as sqlRows from "./store/rows/sql.ts";
export * as variableNames from "./store/names.ts";
export { SqlChunks } from "./store/bytes/chunks.ts";
export * as contents from "./store/bytes/content.ts";
export type { CsvDelimiter } from "./store/bytes/receive.ts";
export {
  Labels,
  Taint,
  flagged,
  joinedLabels,
  strictestVisibility,
  type ValueLabels,
} from "./store/labels.ts";
export { MemoryStore } from "./store/memory-store.ts";
export { retryConflicts } from "./store/retry-conflicts.ts";
export * as migrations from "./store/rows/migrations.ts";
export { SqlGarbage, SqlRows } from "./store/sql-store.ts";
export * as sqlStores from "./store/sql-store.ts";
export { withUser } from "./store/user-variables.ts";
export * as summaries from "./store/summary.ts";
export type * as stores from "./store/variable-store.ts";
export type * as metadata from "./store/variable.ts";
export type { StoreOptions } from "./store/store-state.ts";
export { VariableStore } from "./store/variables.ts";

// Parts of variables that a reference names.
export * as targets from "./tool/variables/variable-target.ts";
export * as sequences from "./tool/variables/sequence.ts";

// Types of the HTTP interface, for clients.
export type { ConversationInfo } from "./edge/conversation-data.ts";
export type * as filePages from "./edge/platform/file-page.ts";
export { later } from "./edge/openapi/later.ts";
export type { AgentsDescription } from "./edge/page-options.ts";
