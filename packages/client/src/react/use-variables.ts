import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { ClientConversation } from "../client/conversation.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import {
  type Events,
  LAST_VARIABLES,
  liveOf,
  type LiveConversation,
  type VariableList,
} from "./live-conversation.ts";

/** The variables to return. */
export interface VariablesOptions {
  /** The newest ones, up to this number. Default: 500. More than 1,000 are loaded in several requests. */
  readonly last?: number;
}

/** The newest variables, oldest first; empty until they are loaded. Changes while turns write. */
export function useVariables(
  conversation: ClientConversation | undefined,
  options?: VariablesOptions,
): readonly VariableInfo[] {
  return useVariableList(conversation, options).variables ?? NONE;
}

/** Like `useVariables`, and returns whether there are more, whether they are loaded yet, and any error. */
export function useVariableList(
  conversation: ClientConversation | undefined,
  { last = LAST_VARIABLES }: VariablesOptions = {},
): VariableList {
  const live = useLive(conversation);
  const { subscribe, read } = live?.variables ?? noVariables;
  const list = useSyncExternalStore(subscribe, read, read);
  useEffect(() => {
    live?.needVariables(last);
  }, [live, last]);
  return useMemo(() => {
    const { variables } = list;
    if (variables === undefined || variables.length <= last) return list;
    return { ...list, variables: variables.slice(-last), hasMore: true };
  }, [list, last]);
}

/** The conversation's events, while they happen. */
export function useEvents(conversation: ClientConversation | undefined): Events {
  const { subscribe, read } = useLive(conversation)?.events ?? noEvents;
  return useSyncExternalStore(subscribe, read, read);
}

/** State of the conversation, shared by the components of a page. */
export function useLive(
  conversation: ClientConversation | undefined,
): LiveConversation | undefined {
  const { client, id } = conversation ?? {};
  return useMemo(() => conversation && liveOf(conversation), [client, id]);
}

const subscribe = () => () => undefined;
const NONE: readonly VariableInfo[] = [];
const NO_VARIABLES: VariableList = { variables: undefined, hasMore: false, error: undefined };
const NO_EVENTS: Events = { events: [], isCut: false, isLive: false };
const noVariables = { subscribe, read: () => NO_VARIABLES };
const noEvents = { subscribe, read: () => NO_EVENTS };
