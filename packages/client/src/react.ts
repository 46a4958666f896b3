export { byrefTransport, type ByrefTransportOptions } from "./react/byref-transport.ts";
export type { Events, ListedPlan, VariableList } from "./react/live-conversation.ts";
export {
  type Plans,
  useEvents,
  usePlans,
  useVariable,
  useVariableInfo,
  useVariableList,
  useVariables,
  type VariablesOptions,
} from "./react/hooks.ts";
export type { VariableState } from "./react/variable-part.ts";
