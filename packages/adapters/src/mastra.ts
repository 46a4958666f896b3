export { type ToolVariablesOptions, withToolVariables } from "./mastra/with-tool-variables.ts";
export { expandMessages } from "./agent/expand-messages.ts";
export { type MastraVariableTool, variableTools } from "./mastra/variable-tools.ts";
export type { VariableToolName, VariableToolsOptions } from "./agent/variable-tools.ts";
export type { MastraAgent } from "./mastra/mastra-agent.ts";
export { STORE_KEY as storeKey, type StoredRun, type StoreForRun } from "./mastra/store-of-run.ts";
export { sqliteStore, type StoreOnDisk } from "./agent/sqlite-store.ts";
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
export type { InstructionStyle } from "../../../src/turn/history/guide.ts";
export type { GuardedHandle, Handle, NotKept, ShownValue } from "../../../src/tool/tool-output.ts";
export type { Naming, WrapOptions } from "../../../src/tool/wrapped-tool.ts";
