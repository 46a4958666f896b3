export * from "./references.ts";
export * from "./runtime.ts";
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
export { modelFromSettings, type ModelProvider } from "./edge/model.ts";
export { readSettings, type Settings } from "./edge/settings.ts";
export { fileEndpoints } from "./edge/routes/files.ts";
export type { GatewaySupport, PlanSupport, QuerySupport } from "./edge/conversation-parts.ts";
export type { AgentContext, AgentDefinition as Agent } from "./edge/agent-types.ts";
export { mcpTools } from "../packages/gateway/src/agents/mcp-servers.ts";
export { runCode } from "../packages/code/src/loader-sandbox.ts";
export { queries } from "../packages/query/src/object/queries.ts";
export { TablesObject as Tables } from "../packages/query/src/object/tables.ts";
export { mcpGateway } from "../packages/gateway/src/conversation/conversation-gateway.ts";
export { transfers } from "../packages/transfer/src/transfers.ts";
export { planSupport } from "../packages/plans/src/http/plan-support.ts";
export { capabilityWorkflows } from "../packages/plan-formats/src/capability/capability-workflows.ts";
export type { PlanFormat } from "../packages/plans/src/plan/plan-format.ts";
export { templates } from "../packages/plan-formats/src/template/templates.ts";
export { capabilityTags } from "../packages/plan-formats/src/capability/capability-model.ts";
