import { createContext, useContext } from "react";
import type { AgentsDescription } from "../../src/edge/page-options.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import type { Session } from "./session.ts";

export type SideTab = "variables" | "plans" | "events" | "meter";
type Tab = "talk" | SideTab;

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

/** The open approvals of a conversation. */
export interface Waiting {
  /** Number of calls of the newest answer. */
  readonly calls: number;
  /** The plans of the runs that wait. */
  readonly plans: readonly string[];
  readonly count: number;
}

/** State shared by all views of a conversation. */
export interface ConversationContextValue {
  readonly session: Session;
  /** True if the server knows the conversation. */
  readonly exists: boolean;
  /** Call when the server has stored the conversation. */
  readonly onBegin: () => void;
  readonly described: AgentsDescription;
  /** Name of the agent that answers; undefined while the agents load. */
  readonly agent: string | undefined;
  readonly setAgent: (name: string) => void;
  /** Current variables by name. */
  readonly variables: ReadonlyMap<string, VariableInfo>;
  /** The newest events, oldest first. */
  readonly events: readonly ConversationEvent[];
  readonly waiting: Waiting;
  readonly view: View;
  /** Opens what is named, in its tab. */
  readonly open: (view: Partial<View>) => void;
}

export const ConversationContext = createContext<ConversationContextValue | undefined>(undefined);

export function useConversation(): ConversationContextValue {
  const value = useContext(ConversationContext);
  if (value === undefined) throw new Error("A part of a conversation stands outside of one.");
  return value;
}
