export {
  expandMessages,
  expandOutput,
  type ExpandingOptions,
  expandStream,
} from "./agent/expand-answer.ts";
export {
  type InstructionStyle,
  type ListingOptions,
  listingVariables,
  summaryOf,
  type SummaryOptions,
  withGuide,
} from "./agent/step-prompt.ts";
export {
  type StoreForCall,
  type ToolVariablesOptions,
  withToolVariables,
} from "./agent/with-tool-variables.ts";
export {
  changeInput,
  type GuardedHandle,
  type NotKept,
  type VariableOutput,
  type WithVariables,
  type WrapOptions,
  wrapToolApproval,
  wrapTools,
} from "./agent/wrap-tools.ts";
export { sqliteStore, type StoreOnDisk } from "./agent/node-sql.ts";
export {
  type VariableToolName,
  variableTools,
  type VariableToolsOptions,
} from "./agent/variable-tools.ts";
export * as limits from "../../../src/limits.ts";
export { createExpander, type PushExpander } from "../../../src/references.ts";
export {
  allOf,
  type Consumed,
  type Decision,
  type Handle,
  type Naming,
  type Policy,
  type PolicyCall,
  requireTrusted,
  type ShownValue,
  type ToolPolicy,
  type VariableInfo,
} from "../../../src/runtime.ts";
export { lookupInStore } from "../../../src/internal-tool.ts";
export { MemoryStore, Taint, type VariableStore } from "../../../src/internal.ts";
