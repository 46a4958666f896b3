import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import type { ClientConversation } from "../client/conversation.ts";
import type { RunOptions } from "../client/plans.ts";
import type { Json } from "../../../../src/references.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import {
  type Events,
  LAST_VARIABLES,
  liveOf,
  type LiveConversation,
  NO_EVENTS,
  NO_PLANS,
  NO_VARIABLES,
  type VariableList,
} from "./live-conversation.ts";
import type { Shared } from "./shared.ts";
import { LOADING, type VariableState } from "./variable-part.ts";

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

const NONE: readonly VariableInfo[] = [];

/** Like `useVariables`, and returns whether there are more, whether they are loaded yet, and any error. */
export function useVariableList(
  conversation: ClientConversation | undefined,
  { last = LAST_VARIABLES }: VariablesOptions = {},
): VariableList {
  const live = useLive(conversation);
  const list = useShared(live?.variables, NO_VARIABLES);
  useEffect(() => {
    live?.needVariables(last);
  }, [live, last]);
  return useMemo(() => {
    const { variables } = list;
    if (variables === undefined || variables.length <= last) return list;
    return { ...list, variables: variables.slice(-last), hasMore: true };
  }, [list, last]);
}

/**
 * A variable's value and metadata, loaded when a component shows it and again when it changes. `path` selects
 * a part, as in a reference: `[0:50]`, `.total`. All components that show the same part share one request. The
 * caller vouches for the value's type.
 */
export function useVariable<Value = Json>(
  conversation: ClientConversation | undefined,
  name: string,
  path = "",
): VariableState<Value> {
  return usePart(conversation, name, path) as VariableState<Value>;
}

/** A variable's metadata, without its value: also that of a secret, or of one that is too large to be shown. */
export function useVariableInfo(
  conversation: ClientConversation | undefined,
  name: string,
): Omit<VariableState, "value"> {
  return usePart(conversation, name, undefined);
}

function usePart(
  conversation: ClientConversation | undefined,
  name: string,
  path: string | undefined,
): VariableState {
  const live = useLive(conversation);
  const part = useMemo(() => live?.part(name, path), [live, name, path]);
  return useShared(part, LOADING);
}

/** The conversation's events, while they happen. */
export function useEvents(conversation: ClientConversation | undefined): Events {
  return useShared(useLive(conversation)?.events, NO_EVENTS);
}

/** The plans of a conversation, and what a person does with them. */
export type Plans = ReturnType<typeof usePlans>;

/** The plans of a conversation, loaded again when one of them, or a run, changes. */
export function usePlans(conversation: ClientConversation | undefined) {
  const live = useLive(conversation);
  const list = useShared(live?.plans, NO_PLANS);
  const act = useCallback(
    async <Result>(work: (given: ClientConversation) => Promise<Result>): Promise<Result> => {
      if (conversation === undefined) throw new Error("usePlans has no conversation yet.");
      return work(conversation).finally(() => live?.plans.renew());
    },
    [live],
  );
  return {
    ...list,
    approve: useCallback((plan: string) => act(({ plans }) => plans.approve(plan)), [act]),
    /** Resolves when the run ends, or waits for a person. Throws a `ClientError`. */
    run: useCallback(
      (plan: string, options?: RunOptions) => act(({ plans }) => plans.run(plan, options).json()),
      [act],
    ),
  };
}

function useShared<Value>(shared: Shared<Value> | undefined, none: Value): Value {
  const read = shared?.read ?? (() => none);
  return useSyncExternalStore(shared?.subscribe ?? subscribeToNothing, read, read);
}

const subscribeToNothing = () => () => undefined;

/** State of the conversation, shared by the components of a page. Each `client.conversation(id)` is another object. */
function useLive(conversation: ClientConversation | undefined): LiveConversation | undefined {
  const { client, id } = conversation ?? {};
  return useMemo(() => conversation && liveOf(conversation), [client, id]);
}
