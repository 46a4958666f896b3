import { useMemo, useSyncExternalStore } from "react";
import type { ClientConversation } from "../client/conversation.ts";
import type { VariableInfo } from "../store/variable.ts";
import { type Events, liveOf, type LiveConversation } from "./live-conversation.ts";

/** The newest 500 variables, oldest first; empty until they are loaded. Changes while turns write. */
export function useVariables(
  conversation: ClientConversation | undefined,
): readonly VariableInfo[] {
  const { subscribe, read } = useLive(conversation)?.variables ?? noVariables;
  return useSyncExternalStore(subscribe, read, read);
}

/** The conversation's events, while they happen. */
export function useEvents(conversation: ClientConversation | undefined): Events {
  const { subscribe, read } = useLive(conversation)?.events ?? noEvents;
  return useSyncExternalStore(subscribe, read, read);
}

/** What the components of a page share of the conversation. */
export function useLive(
  conversation: ClientConversation | undefined,
): LiveConversation | undefined {
  const { client, id } = conversation ?? {};
  return useMemo(() => conversation && liveOf(conversation), [client, id]);
}

const subscribe = () => () => undefined;
const NO_VARIABLES: readonly VariableInfo[] = [];
const NO_EVENTS: Events = { events: [], isCut: false, isLive: false };
const noVariables = { subscribe, read: () => NO_VARIABLES };
const noEvents = { subscribe, read: () => NO_EVENTS };
