/** What packages take from `tool` and `turn`, and diffs. See `internal.ts`. */

// Tool calls: wrapping a tool, resolving its input, saving its result, and the runtime's own tools.
export * as jsonSchemas from "./tool/json-schema.ts";
export * as toolInputs from "./tool/tool-input.ts";
export * as toolOutputs from "./tool/tool-output.ts";
export * as toolFiles from "./tool/files.ts";
export * as scopes from "./tool/scoped-store.ts";
export * as saveTargets from "./tool/save-target.ts";
export * as ownTools from "./tool/variables/variable-tools.ts";
export * as policies from "./tool/policy.ts";
export { joinedTexts } from "./turn/model/acceptable-prompt.ts";
export { StreamCutOff } from "./turn/model/model-failure.ts";
export * as toolCalls from "./tool/tool-call.ts";
export type * as wraps from "./tool/wrapped-tool.ts";
export type { BytesResult } from "./tool/tool-result.ts";
export { acceptableSchema } from "./tool/shown-schema.ts";
export * as shownSchemas from "./tool/shown-schema.ts";
export { UrlSources } from "./tool/composed.ts";
export { diffsOfEdited } from "./tool/edit/edited-diffs.ts";
export * as editedValues from "./tool/edit/edit-variable.ts";
export type { Observer } from "./tool/observer.ts";
export * as runtimeTools from "./tool/runtime-tool.ts";
export { knownNamesOf, lookupInStore, newestVisible } from "./tool/store-lookup.ts";
export * as mcpRules from "./tool/tool-rules.ts";
export { variableShape } from "./tool/variable-shape.ts";
export { keptInput, settingOf } from "./tool/variables/set-variable.ts";

// Turns: agents, prompts, the durable log, and what a plan's run has in common with a turn.
export * as turnAgents from "./turn/agent.ts";
export type { Attempt } from "./turn/turn.ts";
export { type ModelAnswer, withOwnTools } from "./turn/delegate-tool.ts";
export { finderTool } from "./turn/find-tools.ts";
export type { PromptDescription } from "./turn/describe-prompt.ts";
export type * as receipts from "./turn/history/answer-receipt.ts";
export { changedIn } from "./turn/history/message-parts.ts";
export * as guides from "./turn/history/guide.ts";
export { endOf, type StoredMessage } from "./turn/history/stored-message.ts";
export type * as timelines from "./turn/history/timeline.ts";
export { KEPT_AS, VariableList, VARIABLES_TAG } from "./turn/history/variable-list.ts";
export { variableUrl } from "./turn/history/receive-message.ts";
export type * as eventLogs from "./turn/log/event-log.ts";
export type { TurnHead } from "./turn/log/journal.ts";
export type { Plan, PlanCall, PlanFormatName, PlanOutput } from "./turn/plan.ts";
export * as accounts from "./turn/spend/account.ts";
export { spentBefore } from "./turn/spend/spend.ts";
export type { AskModel } from "./turn/sub-turn.ts";
export * as toolboxes from "./turn/toolbox.ts";
export { waitingCalls, withoutWaiting } from "./turn/waiting-calls.ts";

// Diffs of lines, which need `diff`.
export * as lineDiffs from "./value/line-diff.ts";
