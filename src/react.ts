export { byrefTransport, type ByrefTransportOptions } from "./react/byref-transport.ts";
export type { Events, ListedPlan } from "./react/live-conversation.ts";
export { type Plans, usePlans } from "./react/use-plans.ts";
export { useVariable } from "./react/use-variable.ts";
export { useEvents, useVariables } from "./react/use-variables.ts";
export type { VariableState } from "./react/variable-part.ts";
