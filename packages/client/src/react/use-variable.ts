import { useMemo, useSyncExternalStore } from "react";
import type { ClientConversation } from "../client/conversation.ts";
import type { Json } from "../../../../src/references.ts";
import { liveOf } from "./live-conversation.ts";
import type { VariableState } from "./variable-part.ts";

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
  const { client, id } = conversation ?? {};
  const part = useMemo(
    () => conversation && liveOf(conversation).part(name, path),
    // Each call of `client.conversation(id)` makes another object.
    [client, id, name, path],
  );
  const { subscribe, read } = part ?? none;
  return useSyncExternalStore(subscribe, read, read);
}

const LOADING = { value: undefined, info: undefined, status: "loading", error: undefined } as const;

/** Loads nothing without a conversation. */
const none = { subscribe: () => () => undefined, read: (): VariableState => LOADING };
