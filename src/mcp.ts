export {
  type Environment,
  readConfiguration,
  type ServerAddress,
  type ServerConfiguration,
} from "./gateway/configuration.ts";
export type { ServerRules, ToolRules } from "./tool/mcp/tool-rules.ts";
export {
  type ApprovalNeeded,
  type CallAnswer,
  Gateway,
  type GatewayCall,
  type GatewayOptions,
} from "./gateway/gateway.ts";
export { gatewayServer, type ServingOptions } from "./gateway/gateway-server.ts";
export { WaitingCalls } from "./gateway/running-call.ts";
export { type Counts, MemoryStatistics, type Statistics } from "./gateway/statistics.ts";
export type { ListKeeper } from "./gateway/tool-lists.ts";
export type { AskClient, ClientOfCall, ClientOfGateway } from "./gateway/client-of-gateway.ts";
export type { Change, ListChange } from "./gateway/change.ts";
export type { OpenTransport, Upstream, UpstreamCall, UpstreamStatus } from "./gateway/upstream.ts";
