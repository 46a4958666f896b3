export { byrefTransport, type ByrefTransportOptions } from "./react/byref-transport.ts";
export type { Events, ListedPlan, VariableList } from "./react/live-conversation.ts";
export { type Plans, usePlans } from "./react/use-plans.ts";
export { useVariable, useVariableInfo } from "./react/use-variable.ts";
export {
  useEvents,
  useVariableList,
  useVariables,
  type VariablesOptions,
} from "./react/use-variables.ts";
export type { VariableState } from "./react/variable-part.ts";
