import { createContext, useContext } from "react";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import type { Session } from "./session.ts";

/** State shared by all views of a conversation. */
export interface ConversationContextValue {
  readonly session: Session;
  /** Current variables by name. */
  readonly variables: ReadonlyMap<string, VariableInfo>;
  /** The newest events, oldest first. */
  readonly events: readonly ConversationEvent[];
  readonly openVariable: (name: string) => void;
  /** Opens a plan by its id. */
  readonly openPlan: (plan: string) => void;
  readonly openMeter: () => void;
  /** Shows the waterfall of a turn, by the id of its answer. */
  readonly openTurn: (messageId: string) => void;
}

export const ConversationContext = createContext<ConversationContextValue | undefined>(undefined);

export function useConversation(): ConversationContextValue {
  const value = useContext(ConversationContext);
  if (value === undefined) throw new Error("A part of a conversation stands outside of one.");
  return value;
}
