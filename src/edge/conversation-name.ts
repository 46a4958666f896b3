import { ByrefError } from "../errors.ts";

/** The environment and state of a conversation's object. */
export interface ObjectContext {
  readonly env: object;
  /** The object's name, made by `conversation-of.ts`, contains its tenant. */
  readonly state: Pick<DurableObjectState, "id" | "waitUntil">;
}

/**
 * Parses the tenant and id from an object's name, made by `conversation-of.ts`. Returns undefined for an
 * object that is not a conversation: objects with the parts of an import have names of three elements.
 */
export function conversationIn(name = "null") {
  try {
    const parts: unknown = JSON.parse(name);
    if (!Array.isArray(parts) || parts.length !== 2) return undefined;
    const [tenant, id] = parts as readonly unknown[];
    return typeof tenant === "string" && typeof id === "string" ? { tenant, id } : undefined;
  } catch {
    // Not a name made by this Worker.
    return undefined;
  }
}

export const CONVERSATION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Throws `bad_id` if the text is not a valid conversation id. */
export function requireId(id: string): string {
  if (CONVERSATION_ID.test(id) && id !== "." && id !== "..") return id;
  const message = `"${id.slice(0, 140)}" is not an id: use 1 to 128 of A-Z a-z 0-9 . _ -`;
  throw new ByrefError("bad_id", message);
}
