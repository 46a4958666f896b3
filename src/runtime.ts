/**
 * The public names of a conversation's runtime: variables, tools, turns. They need no Cloudflare. `byref.ts` adds the
 * reference engine, the Worker and the packages.
 */
export { csvRecords } from "./store/bytes/csv-records.ts";
export { errorCodes } from "./errors.ts";
export type { VariableInfo } from "./store/variable.ts";
export {
  allOf,
  type Decision,
  type Policy,
  type PolicyCall,
  requireTrusted,
  type ToolPolicy,
} from "./tool/policy.ts";
export type { Handle, ShownValue, ToolOutput } from "./tool/tool-output.ts";
export type { Effects, Naming } from "./tool/wrapped-tool.ts";
export type { CapabilityTags } from "./turn/agent.ts";
export type { Identity } from "./tool/identity.ts";
export type { Cost, Usage } from "./turn/spend/spend.ts";
export type { Savings } from "./turn/spend/account.ts";
export type { TurnMetadata } from "./turn/turn.ts";
export type { Consumed } from "./store/labels.ts";
