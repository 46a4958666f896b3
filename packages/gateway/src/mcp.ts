export {
  type Environment,
  readConfiguration,
  type ServerAddress,
  type ServerConfiguration,
} from "./configuration.ts";
export type { ServerRules, ToolRules } from "./servers/server-rules.ts";
export { Gateway, type GatewayOptions } from "./gateway.ts";
export { gatewayServer } from "./gateway-server.ts";
export type { ApprovalNeeded, CallAnswer, GatewayCall } from "./running-call.ts";
export { type Counts, GatewayState, type GatewayStateOptions } from "./gateway-state.ts";
export { sharedStore, type SharedStore, StateFile, stateFolder } from "./cli/state.ts";
export type { ListKeeper, Said } from "./tool-lists.ts";
export type { AskClient, ClientOfCall, ClientOfGateway } from "./client-of-gateway.ts";
export type { Change, ListChange } from "./servers/upstream.ts";
export type { OpenTransport, Upstream, UpstreamCall, UpstreamStatus } from "./servers/upstream.ts";
