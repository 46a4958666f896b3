import { createContext, useContext } from "react";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import type { Session } from "./session.ts";

/** What every part of a conversation may want to know of it. */
export interface ConversationContextValue {
  readonly session: Session;
  /** Those that exist now, by name. */
  readonly variables: ReadonlyMap<string, VariableInfo>;
  /** The newest, oldest first. */
  readonly events: readonly ConversationEvent[];
  readonly openVariable: (name: string) => void;
  /** By its id. */
  readonly openPlan: (plan: string) => void;
  readonly openMeter: () => void;
  /** Shows what a turn spent its time on. By the id of its answer. */
  readonly openTurn: (messageId: string) => void;
}

export const ConversationContext = createContext<ConversationContextValue | undefined>(undefined);

export function useConversation(): ConversationContextValue {
  const value = useContext(ConversationContext);
  if (value === undefined) throw new Error("A part of a conversation stands outside of one.");
  return value;
}
