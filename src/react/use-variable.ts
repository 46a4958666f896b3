import { useMemo, useSyncExternalStore } from "react";
import type { ClientConversation } from "../client/conversation.ts";
import type { Json } from "../value/json.ts";
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
  const { client, id } = conversation ?? {};
  const part = useMemo(
    () => conversation && liveOf(conversation).part(name, path),
    // Each call of `client.conversation(id)` makes another object.
    [client, id, name, path],
  );
  const { subscribe, read } = part ?? none;
  return useSyncExternalStore(subscribe, read, read) as VariableState<Value>;
}

const LOADING = { value: undefined, info: undefined, status: "loading", error: undefined } as const;

/** Without a conversation nothing is loaded. */
const none = { subscribe: () => () => undefined, read: (): VariableState => LOADING };
