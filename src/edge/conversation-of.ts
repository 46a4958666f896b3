import type { Context } from "hono";
import type { AppEnv, Bindings } from "./app-env.ts";
import { parse } from "./http/endpoint.ts";
import { locationQuery, objectIn, type Placement } from "./placement.ts";
import { settingsOf } from "./settings.ts";
import { ByrefError } from "../errors.ts";
import { nobodyAsks, USER, type UserValue } from "../store/user-variables.ts";
import type { UserWrite } from "../store/variable-store.ts";
import type { Identity } from "../tool/identity.ts";
import { wholeDigestOf } from "../tool/tool-input.ts";
import { jsonIn } from "../value/json.ts";

/** `waiting`: a call or run needs a person's approval. */
export type ConversationStatus = "idle" | "running" | "waiting";

/** A conversation's object, as seen by the Worker. */
export interface RemoteConversation extends Pick<DurableObjectStub, "fetch"> {
  status(): Promise<ConversationStatus | undefined>;
  deleteBefore(timeMs: number): Promise<void>;
  userValues(write?: UserWrite): Promise<readonly UserValue[]>;
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
  return objectNamed(context, [context.get("identity").tenant, requireId(id)]);
}

/** The object that stores the parts of an import. No conversation's name has a third element. */
export function importOf(context: Context<AppEnv>, id: string): RemoteConversation {
  return objectNamed(context, [context.get("identity").tenant, requireId(id), IMPORT]);
}

export const IMPORT = "import";

/** The object with the values of who asks. Throws `bad_request` if nobody is known to ask. */
export async function userOf(context: Context<AppEnv>): Promise<RemoteConversation> {
  return objectNamed(context, await userObjectName(context.get("identity")));
}

/** The name of the object with a user's values. A digest, because the platform forgets names of over 1,024 bytes. */
export async function userObjectName({ tenant, principal }: Identity): Promise<readonly string[]> {
  if (principal === undefined) throw nobodyAsks();
  return [tenant, await wholeDigestOf(principal), USER];
}

/** With the tenant before it, the name of an object in which nothing is ever stored. */
export const UNUSED = ["", "unused"] as const;

/** The conversation that the query names, or an object in which nothing is ever stored. */
export function conversationInQuery(context: Context<AppEnv>): RemoteConversation {
  const id = context.req.query("conversation");
  if (id !== undefined) return conversationOf(context, id);
  return objectNamed(context, [context.get("identity").tenant, ...UNUSED]);
}

function objectNamed({ env, req }: Context<AppEnv>, parts: readonly string[]): RemoteConversation {
  const hint = parse(locationQuery, req.query("location"), "location");
  return conversationNamed(env, parts, { hint });
}

export function conversationNamed(
  env: object,
  parts: readonly string[],
  placement: Omit<Placement, "settings">,
): RemoteConversation {
  const { CONVERSATIONS }: Partial<Bindings> = env;
  if (CONVERSATIONS === undefined) throw new ByrefError("not_configured", NOT_CONFIGURED);
  // The namespace is bound to ConversationObject; the platform's type for it does not support Json, which is
  // recursive.
  const settings = settingsOf(env);
  const named = objectIn(CONVERSATIONS, JSON.stringify(parts), { settings, ...placement });
  return named as unknown as RemoteConversation;
}

export interface ObjectContext {
  readonly env: object;
  /** The object's name, made by `conversation-of.ts`, contains its tenant. */
  readonly state: Pick<DurableObjectState, "id" | "waitUntil">;
}

/** What an object's name says. Nothing is known of a name that this Worker did not make. */
export interface ObjectName {
  readonly tenant?: string | undefined;
  /** Set for a conversation. */
  readonly conversation?: string | undefined;
  /** Set for other objects, whose names have three elements. */
  readonly kind?: string | undefined;
  /** With which the directory knows the object: a conversation's own id, or `user:` and a digest, which none has. */
  readonly indexedId?: string | undefined;
}

export function nameIn(name = ""): ObjectName {
  const parts = jsonIn(name);
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === "string")) return {};
  const [tenant, id, kind] = parts;
  if (kind === undefined) return { tenant, conversation: id, indexedId: id };
  return { tenant, kind, indexedId: kind === USER ? `${USER}:${id}` : undefined };
}

/** The name, without its tenant, of the object with this id. */
export function namedBy(indexedId: string): readonly string[] {
  const [kind = "", digest] = indexedId.split(":");
  return digest === undefined ? [indexedId] : [digest, kind];
}

export const CONVERSATION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Throws `bad_request` if the text is not a valid conversation id. */
export function requireId(id: string): string {
  if (CONVERSATION_ID.test(id) && id !== "." && id !== "..") return id;
  const message = `"${id.slice(0, 140)}" is not an id: use 1 to 128 of A-Z a-z 0-9 . _ -`;
  throw new ByrefError("bad_request", message);
}

/** Copies a response from `fetch`, because its own headers are immutable. */
export function mutableResponse(response: Response): Response {
  return new Response(response.body, response);
}

const NOT_CONFIGURED = `Conversations need the binding CONVERSATIONS. Export the class Conversation, and add it to wrangler.toml:
[[durable_objects.bindings]]
name = "CONVERSATIONS"
class_name = "Conversation"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Conversation"]`;
