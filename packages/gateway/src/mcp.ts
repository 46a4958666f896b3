export {
  type Environment,
  readConfiguration,
  type ServerAddress,
  type ServerConfiguration,
} from "./configuration.ts";
export type { ServerRules, ToolRules } from "../../mcp/src/server-rules.ts";
export {
  type ApprovalNeeded,
  type CallAnswer,
  Gateway,
  type GatewayCall,
  type GatewayOptions,
} from "./gateway.ts";
export { gatewayServer, type ServingOptions } from "./gateway-server.ts";
export { WaitingCalls } from "./running-call.ts";
export { type Counts, MemoryStatistics, type Statistics } from "./gateway-state.ts";
export type { ListKeeper } from "./tool-lists.ts";
export type { AskClient, ClientOfCall, ClientOfGateway } from "./client-of-gateway.ts";
export type { Change, ListChange } from "./upstream.ts";
export type { OpenTransport, Upstream, UpstreamCall, UpstreamStatus } from "./upstream.ts";
