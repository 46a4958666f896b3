export { type ExpandingOptions, expandStream } from "./agent/expand-answer.ts";
export { expandMessages } from "./agent/expand-messages.ts";
export { expandOutput } from "./agent/expand-object.ts";
export { type ListingOptions, listingVariables, withGuide } from "./agent/step-prompt.ts";
export {
  type StoreForCall,
  type ToolVariablesOptions,
  withToolVariables,
} from "./agent/with-tool-variables.ts";
export { wrapToolApproval } from "./agent/approvals.ts";
export { type VariableOutput, type WithVariables, wrapTools } from "./agent/wrap-tools.ts";
export { createExpander, type PushExpander } from "./reference/create-expander.ts";
export { sqliteStore, type StoreOnDisk } from "./agent/sqlite-store.ts";
export { summaryOf, type SummaryOptions } from "./agent/summary-of.ts";
export {
  type VariableToolName,
  variableTools,
  type VariableToolsOptions,
} from "./agent/variable-tools.ts";
export * as limits from "./limits.ts";
export { MemoryStore } from "./store/memory-store.ts";
export type { VariableStore } from "./store/variable-store.ts";
export type { VariableInfo } from "./store/variable.ts";
export {
  allOf,
  type Decision,
  type Policy,
  type PolicyCall,
  requireTrusted,
  type ToolPolicy,
} from "./tool/policy.ts";
export { publicFetch, type PublicFetchOptions } from "./tool/public-fetch.ts";
export { lookupInStore } from "./tool/store-lookup.ts";
export { type Consumed, Taint } from "./store/labels.ts";
export type { InstructionStyle } from "./turn/history/guide.ts";
export type { GuardedHandle, Handle, NotKept, ShownValue } from "./tool/tool-output.ts";
export type { Naming, WrapOptions } from "./tool/wrapped-tool.ts";
