export {
  changeInput,
  type MastraVariableTool,
  type ToolVariablesOptions,
  variableTools,
  withToolVariables,
} from "./mastra/with-tool-variables.ts";
export { expandMessages } from "./agent/expand-answer.ts";
export type { GuardedHandle, NotKept, WrapOptions } from "./agent/wrap-tools.ts";
export type { InstructionStyle } from "./agent/step-prompt.ts";
export type { VariableToolName, VariableToolsOptions } from "./agent/variable-tools.ts";
export type { MastraAgent } from "./mastra/mastra-agent.ts";
export { STORE_KEY as storeKey, type StoredRun, type StoreForRun } from "./mastra/run.ts";
export { sqliteStore, type StoreOnDisk } from "./agent/node-sql.ts";
export * as limits from "../../../src/limits.ts";
export {
  allOf,
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
export { MemoryStore, type VariableStore } from "../../../src/internal.ts";
