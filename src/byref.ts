export { createRuntime, type Runtime, type RuntimeOptions } from "./edge/create-runtime.ts";
export { type Authenticator, settingsAuthenticator } from "./edge/auth/authenticator.ts";
export type {
  ColorOfPage,
  ExampleQuestion,
  MeasuredTokens,
  PageColor,
  PageOptions,
} from "./edge/page-options.ts";
export { jwtAuthenticator } from "./edge/auth/jwt-authenticator.ts";
export { mcpTools } from "../packages/mcp/src/mcp-servers.ts";
export { runCode } from "../packages/code/src/loader-sandbox.ts";
export { modelFromSettings, type ModelProvider } from "./edge/models/model.ts";
export { readSettings, type Settings } from "./edge/settings.ts";
export { fileEndpoints } from "./edge/routes/files.ts";
export { queries } from "../packages/query/src/object/queries.ts";
export { TablesObject as Tables } from "../packages/query/src/object/tables.ts";
export { mcpGateway } from "../packages/gateway/src/conversation/routes.ts";
export type { GatewaySupport, PlanSupport, QuerySupport } from "./edge/conversation-parts.ts";
export { transfers } from "../packages/transfer/src/transfers.ts";
export { planSupport } from "../packages/plans/src/http/plan-support.ts";
export { csvRecords } from "./store/bytes/csv-records.ts";
export { capabilityWorkflows } from "../packages/plan-formats/src/capability/capability-workflows.ts";
export type { PlanFormat } from "../packages/plans/src/plan/plan-format.ts";
export { templates } from "../packages/plan-formats/src/template/templates.ts";
export { capabilityTags } from "../packages/plan-formats/src/capability/capability-model.ts";
export { errorCodes } from "./errors.ts";
export * from "./references.ts";
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
export type { AgentContext, AgentDefinition as Agent } from "./edge/agent-types.ts";
export type { CapabilityTags } from "./turn/agent.ts";
export type { Identity } from "./tool/identity.ts";
export type { Cost, Usage } from "./turn/spend/spend.ts";
export type { Savings } from "./turn/spend/savings.ts";
export type { TurnMetadata } from "./turn/turn.ts";
export type { Consumed } from "./store/labels.ts";
