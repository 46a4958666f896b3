import { createContext, useContext } from "react";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import type { Session } from "./session.ts";

export type SideTab = "variables" | "plans" | "events" | "meter";
export type Tab = "talk" | SideTab;

/** What is open. On a phone only `tab` is shown; on a wide screen `side` is shown beside the messages. */
export interface View {
  readonly tab: Tab;
  readonly side: SideTab;
  /** Name of the open variable. */
  readonly variable?: string | undefined;
  /** Id of the open plan. */
  readonly plan?: string | undefined;
  /** Id of the answer whose waterfall is shown. */
  readonly turn?: string | undefined;
}

/** State shared by all views of a conversation. */
export interface ConversationContextValue {
  readonly session: Session;
  /** Current variables by name. */
  readonly variables: ReadonlyMap<string, VariableInfo>;
  /** The newest events, oldest first. */
  readonly events: readonly ConversationEvent[];
  /** Opens what is named, in its tab. */
  readonly open: (view: Partial<View>) => void;
}

export const ConversationContext = createContext<ConversationContextValue | undefined>(undefined);

export function useConversation(): ConversationContextValue {
  const value = useContext(ConversationContext);
  if (value === undefined) throw new Error("A part of a conversation stands outside of one.");
  return value;
}
