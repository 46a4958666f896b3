/**
 * What the packages take from the folders of `src`, beside the public names in `runtime.ts` and `references.ts`. It
 * runs, and has types, outside of Workers; `internal-edge.ts` has the rest. Not for applications: a name may change
 * with any commit.
 */

// Values: JSON and its texts, numbers with all digits, bytes, previews, time limits.
export * as json from "./value/json.ts";
export * as characters from "./value/characters.ts";
export * as exactNumbers from "./value/exact-number.ts";
export * as encoding from "./value/encoding.ts";
export { ByteBuffer } from "./value/byte-buffer.ts";
export { joinBytes, streamOf } from "./value/bytes.ts";
export { lineSegments } from "./value/compare-lines.ts";
export { csvText } from "./value/csv-text.ts";
export { Deadline, unlessAborted, withTimeLimit } from "./value/deadline.ts";
export { charsOf } from "./value/json-text.ts";
export type { JsonObject } from "./value/json.ts";
export { LineDiff } from "./value/line-diff.ts";
export { parseShape, type Shape } from "./value/parse-shape.ts";
export { previewOf } from "./value/preview.ts";
export { Recent } from "./value/recent.ts";
export { renderText } from "./value/render.ts";
export { requireJson } from "./value/require-json.ts";
export { shapeOf } from "./value/shape.ts";
export { shortHash } from "./value/short-hash.ts";
export { toJson } from "./value/to-json.ts";
export { mayHaveHalf, requireWellFormed } from "./value/well-formed.ts";
export { Work, workOfRun } from "./value/work.ts";

// References: what an answer, a template or code needs of the engine, beyond `references.ts`.
export { CodeTracker } from "./reference/code-tracker.ts";
export { dollar } from "./reference/dollar.ts";
export { TextsExpander } from "./reference/expand-texts.ts";
export { LookupWork } from "./reference/lookup.ts";
export { nearest, withWordsOf } from "./reference/near.ts";
export { needsIn, type Need } from "./reference/needs-in.ts";
export { describe, problemFrom } from "./reference/reference-problem.ts";
export { wholeReference, wholeView } from "./reference/reference.ts";
export type { Place } from "./reference/resolve.ts";
export { inTexts, pickSyntaxes, type Syntaxes, writerIn } from "./reference/syntaxes.ts";

// The store: variables, their labels and bytes, and the SQL that they are stored in.
export * as sqlRows from "./store/rows/sql.ts";
export * as variableNames from "./store/names.ts";
export { SqlChunks } from "./store/bytes/chunks.ts";
export {
  Content,
  RECORDS_TYPE,
  formatOf,
  jsonContent,
  type StoredBody,
} from "./store/bytes/content.ts";
export { SqlGarbage } from "./store/bytes/garbage.ts";
export type { CsvDelimiter } from "./store/bytes/receive.ts";
export {
  Labels,
  Taint,
  flagged,
  joinedLabels,
  strictestVisibility,
  type ValueLabels,
  visibilityText,
} from "./store/labels.ts";
export { MemoryStore } from "./store/memory-store.ts";
export { tombstoneOf } from "./store/metadata.ts";
export { retryConflicts } from "./store/retry-conflicts.ts";
export { hasSchema, migrate } from "./store/rows/migrations.ts";
export { SqlRows } from "./store/rows/sql-rows.ts";
export type { Sql } from "./store/rows/sql.ts";
export { SqlStore, type SqlStoreOptions } from "./store/sql-store.ts";
export { summaryOf, type Summarized } from "./store/summary.ts";
export type {
  AutomaticName,
  PreparedWrite,
  VariableRecord,
  VariableStore,
  Variables,
  VersionRecord,
  Write,
  WriteMode,
} from "./store/variable-store.ts";
export type { Glance, MovedInfo, OpenValue, Tombstone, Visibility } from "./store/variable.ts";
export { Variables as VariablesOfRows, type StoreOptions } from "./store/variables.ts";

// Tool calls: wrapping a tool, resolving its input, saving its result, and the runtime's own tools.
export * as jsonSchemas from "./tool/json-schema.ts";
export * as toolInputs from "./tool/tool-input.ts";
export * as toolOutputs from "./tool/tool-output.ts";
export * as targets from "./tool/variables/variable-target.ts";
export * as sequences from "./tool/variables/sequence.ts";
export * as toolFiles from "./tool/files.ts";
export * as scopes from "./tool/scoped-store.ts";
export * as saveTargets from "./tool/save-target.ts";
export * as shownResults from "./tool/shown-result.ts";
export * as ownTools from "./tool/variables/variable-tools.ts";
export { UrlSources } from "./tool/composed.ts";
export { diffsOfEdited } from "./tool/edit/edited-diffs.ts";
export {
  incomplete,
  type Edit,
  type RecordEdits,
  type ResolvedChanges,
} from "./tool/edit/resolved-edits.ts";
export type { FileInfo, Files } from "./tool/files.ts";
export { joinedTexts } from "./tool/joined-texts.ts";
export { noSuchTool } from "./tool/no-such-tool.ts";
export type { Observer } from "./tool/observer.ts";
export {
  approvalRequest,
  fitsName,
  type ApprovalRequest,
  type VariableDiff,
} from "./tool/policy.ts";
export { change, savingAll, type Prepare } from "./tool/prepared-save.ts";
export type { BytesResult } from "./tool/run-tool.ts";
export {
  fits,
  promptStages,
  runtimeTool,
  startWithin,
  type ModelOutput,
  type RuntimeResult,
  type RuntimeTool,
  type RuntimeToolContext,
} from "./tool/runtime-tool.ts";
export { savingAt, writesAt } from "./tool/save-result.ts";
export type { SaveTarget } from "./tool/save-target.ts";
export { knownNamesOf, lookupInStore, newestVisible } from "./tool/store-lookup.ts";
export type { GuardedHandle, NotKept } from "./tool/tool-output.ts";
export { toolRules, type McpServer, type ToolRules } from "./tool/tool-rules.ts";
export { variableShape } from "./tool/variable-shape.ts";
export { keptInput, settingOf } from "./tool/variables/set-variable.ts";
export type { Target } from "./tool/variables/variable-target.ts";
export { widenSchema } from "./tool/widen-schema.ts";
export { runtimeToolSchema, wrapRuntimeTool, wrapRuntimeTools } from "./tool/wrap-runtime-tool.ts";
export { shownSchema, wrapTool, wrapTools } from "./tool/wrap-tool.ts";
export type {
  AnyTool,
  CallOptions,
  Prepared,
  Ready,
  RunScope,
  Saved,
  WrapOptions,
  WrappedTool,
} from "./tool/wrapped-tool.ts";

// Turns: agents, prompts, the durable log, and what a plan's run has in common with a turn.
export { resolveAgent, type Agent, type CapabilityOptions, wrapOptionsFor } from "./turn/agent.ts";
export { Attempt, headFor, type AttemptEnd } from "./turn/attempt.ts";
export { type ModelAnswer, withOwnTools } from "./turn/delegate-tool.ts";
export type { PromptDescription } from "./turn/describe-prompt.ts";
export type { AnswerReceipt, ReceiptSpan, TypedFigure } from "./turn/history/answer-receipt.ts";
export { detailsFor, guideFor, type InstructionStyle } from "./turn/history/guide.ts";
export { VARIABLES_TAG, withTail } from "./turn/history/prompt.ts";
export { KEPT_AS, withoutRepeats } from "./turn/history/shown-variables.ts";
export type { MessageForm, StoredMessage } from "./turn/history/stored-message.ts";
export type { TimedActivity, TimedAttempt, Timeline } from "./turn/history/timeline.ts";
export { VariableList } from "./turn/history/variable-list.ts";
export { variableUrl } from "./turn/history/variable-url.ts";
export type { ConversationEvent, EventType, NewEvent } from "./turn/log/event-log.ts";
export type { JournalEntry, TurnHead } from "./turn/log/journal.ts";
export type { RecoveredLog } from "./turn/log/log-lines.ts";
export { giveUpReason, recoveryDelayMs } from "./turn/log/recovery.ts";
export { pause } from "./turn/model/model-failure.ts";
export type { Plan, PlanCall, PlanFormatName, PlanOutput } from "./turn/plan.ts";
export { charsOfMessage, charsOfTools } from "./turn/spend/savings.ts";
export { NOTHING_SPENT, spentBefore } from "./turn/spend/spend.ts";
export { askAgentFor, askModelOf, type AskModel } from "./turn/sub-turn.ts";
export {
  Toolbox,
  type CodeOptions,
  type MakeCodeTool,
  type QueryTools,
  type ToolboxOptions,
} from "./turn/toolbox.ts";
export type { TurnContext, TurnEnd, TurnOptions } from "./turn/turn-context.ts";
export { type ApprovalResponse, withoutWaiting } from "./turn/waiting-calls.ts";

// Types of the HTTP interface, for clients.
export type { ConversationInfo } from "./edge/conversation-data.ts";
export type { FilePage, FileSummary } from "./edge/files/file-page.ts";
export { later } from "./edge/openapi/later.ts";
export type { AgentsDescription } from "./edge/page-options.ts";
