import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";
import { requireId } from "./conversation-name.ts";
import type { ConversationStatus } from "./conversation-parts.ts";
import { parse } from "./http/parse.ts";
import { objectIn, locationQuery } from "./placement.ts";
import { settingsOf } from "./settings.ts";

/** A conversation's object, as the Worker calls it. */
export interface RemoteConversation extends Pick<DurableObjectStub, "fetch"> {
  status(): Promise<ConversationStatus | undefined>;
}

/**
 * The object of a conversation. Its name is made of the tenant, which was authenticated, and the id, as JSON:
 * no two pairs give one name, and nothing that a client sends can name another tenant's object. `id`: by
 * default the one in the request's path.
 */
export function conversationOf(
  context: Context<AppEnv>,
  id = context.req.param("id") ?? "",
): RemoteConversation {
  return objectNamed(context, [context.get("tenant"), requireId(id)]);
}

/** The object that keeps the parts of a file: the third element is in no conversation's name. */
export function importOf(context: Context<AppEnv>, id: string): RemoteConversation {
  return objectNamed(context, [context.get("tenant"), requireId(id), "import"]);
}

function objectNamed({ env, req }: Context<AppEnv>, parts: readonly string[]): RemoteConversation {
  const hint = parse(locationQuery, req.query("location"), "location");
  // The namespace is bound to ConversationObject; the platform's own type of it cannot hold Json, which
  // is recursive.
  const named = objectIn(env.CONVERSATIONS, JSON.stringify(parts), {
    settings: settingsOf(env),
    hint,
  });
  return named as unknown as RemoteConversation;
}
