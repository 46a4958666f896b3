import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";
import { requireId } from "./conversation-name.ts";
import type { ConversationStatus } from "./conversation-parts.ts";
import { parse } from "./http/parse.ts";
import { objectIn, locationQuery } from "./placement.ts";
import { settingsOf } from "./settings.ts";

/** A conversation's object, as seen by the Worker. */
export interface RemoteConversation extends Pick<DurableObjectStub, "fetch"> {
  status(): Promise<ConversationStatus | undefined>;
}

/**
 * The object of a conversation. Its name is the authenticated tenant and the id, as JSON: different pairs
 * have different names, and a client cannot name another tenant's object. `id` defaults to the one in the
 * request's path.
 */
export function conversationOf(
  context: Context<AppEnv>,
  id = context.req.param("id") ?? "",
): RemoteConversation {
  return objectNamed(context, [context.get("tenant"), requireId(id)]);
}

/** The object that stores the parts of an import. No conversation's name has a third element. */
export function importOf(context: Context<AppEnv>, id: string): RemoteConversation {
  return objectNamed(context, [context.get("tenant"), requireId(id), "import"]);
}

function objectNamed({ env, req }: Context<AppEnv>, parts: readonly string[]): RemoteConversation {
  const hint = parse(locationQuery, req.query("location"), "location");
  // The namespace is bound to ConversationObject; the platform's type for it does not support Json, which is
  // recursive.
  const named = objectIn(env.CONVERSATIONS, JSON.stringify(parts), {
    settings: settingsOf(env),
    hint,
  });
  return named as unknown as RemoteConversation;
}
