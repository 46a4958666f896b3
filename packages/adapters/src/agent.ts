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
export { createExpander, type PushExpander } from "../../../src/reference/create-expander.ts";
export { sqliteStore, type StoreOnDisk } from "./agent/sqlite-store.ts";
export { summaryOf, type SummaryOptions } from "./agent/summary-of.ts";
export {
  type VariableToolName,
  variableTools,
  type VariableToolsOptions,
} from "./agent/variable-tools.ts";
export * as limits from "../../../src/limits.ts";
export { MemoryStore } from "../../../src/store/memory-store.ts";
export type { VariableStore } from "../../../src/store/variable-store.ts";
export type { VariableInfo } from "../../../src/store/variable.ts";
export {
  allOf,
  type Decision,
  type Policy,
  type PolicyCall,
  requireTrusted,
  type ToolPolicy,
} from "../../../src/tool/policy.ts";
export { lookupInStore } from "../../../src/tool/store-lookup.ts";
export { type Consumed, Taint } from "../../../src/store/labels.ts";
export type { InstructionStyle } from "../../../src/turn/history/guide.ts";
export type { GuardedHandle, Handle, NotKept, ShownValue } from "../../../src/tool/tool-output.ts";
export type { Naming, WrapOptions } from "../../../src/tool/wrapped-tool.ts";
