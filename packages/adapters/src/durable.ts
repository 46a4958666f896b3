export {
  type ConversationVariables,
  conversationVariables,
  type ConversationVariablesOptions,
  type ObjectState,
  type PrepareAnyStep,
} from "./durable/conversation-variables.ts";
export type { SchedulingAgent } from "./durable/sweep-alarm.ts";
export type { VariableStore } from "../../../src/internal.ts";
export type { VariableInfo } from "../../../src/runtime.ts";
