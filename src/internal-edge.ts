/** What packages that run in Workers, in or beside a conversation's object, take from `edge`. See `internal.ts`. */

export * as conversations from "./edge/conversation-of.ts";
export * as requestBodies from "./edge/http/read-body.ts";
export * as parameters from "./edge/http/parameters.ts";
export * as schemas from "./edge/openapi/schemas.ts";
export type { AgentContext, AgentDefinition } from "./edge/agent-types.ts";
export type * as appEnv from "./edge/app-env.ts";
export { identityHeader, identityIn } from "./edge/auth/forwarded-identity.ts";
export { hmacKey } from "./edge/auth/tickets.ts";
export type * as contexts from "./edge/conversation-context.ts";
export type { ConversationData } from "./edge/conversation-data.ts";
export type { TenantContext, TenantFeature, TenantParts } from "./edge/directory/directory.ts";
export type {
  Api,
  ConversationParts,
  GatewaySupport,
  PlanSupport,
  QuerySupport,
  Support,
} from "./edge/conversation-parts.ts";
export { wasDeleted } from "./edge/deletion.ts";
export { directoryOf } from "./edge/directory/directory-client.ts";
export { withEnd } from "./edge/http/client-body.ts";
export { endpoint, parse, type Endpoint } from "./edge/http/endpoint.ts";
export { preferred } from "./edge/http/request-headers.ts";
export { logFailure, placeIn } from "./edge/log-failure.ts";
export type { ModelProvider } from "./edge/model.ts";
export { locationQuery, objectIn } from "./edge/placement.ts";
export { DurableSql } from "./edge/platform/durable-sql.ts";
export { R2Blobs } from "./edge/platform/r2-blobs.ts";
export { R2Files } from "./edge/platform/r2-files.ts";
export { approvalEndpoint } from "./edge/routes/messages.ts";
export * as workerSettings from "./edge/settings.ts";
export { decidedEvent, queueRun } from "./edge/turns/attempt.ts";
export * as chosenAgents from "./edge/turns/chosen-agent.ts";
export type { TurnRequest } from "./edge/turns/turn-request.ts";
export type { Turns } from "./edge/turns/turns.ts";
export { respond } from "./edge/turns/turn-response.ts";
export { etagOf } from "./edge/variables/etags.ts";
export { putValue } from "./edge/variables/put-variable.ts";
export { written } from "./edge/variables/serve-value.ts";
