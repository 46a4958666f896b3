import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";
import type { ConversationObject } from "./conversation.ts";
import { requireId } from "./conversation-name.ts";
import { parse } from "./http/parse.ts";
import { objectIn, locationQuery } from "./placement.ts";
import { settingsOf } from "./settings.ts";

/** A conversation as its Worker sees it: the same methods, each a call to another place. */
export type RemoteConversation = Pick<DurableObjectStub, "fetch"> & {
  readonly [Method in RemoteMethod]: (
    ...parameters: Parameters<ConversationObject[Method]>
  ) => Promise<Awaited<ReturnType<ConversationObject[Method]>>>;
};

type RemoteMethod =
  | "about"
  | "status"
  | "setTitle"
  | "stop"
  | "deleteAll"
  | "readMessages"
  | "listEvents"
  | "listVariables"
  | "pageVariables"
  | "variableInfo"
  | "changeVariable"
  | "deleteVariable"
  | "resetVariables"
  | "interpolate";

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
