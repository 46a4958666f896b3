export {
  type ConversationVariables,
  conversationVariables,
  type ConversationVariablesOptions,
  type ObjectState,
  type PrepareAnyStep,
} from "./durable/conversation-variables.ts";
export type { SchedulingAgent } from "./durable/sweep-alarm.ts";
export type { VariableStore } from "../../../src/store/variable-store.ts";
export type { VariableInfo } from "../../../src/store/variable.ts";
