import { ByrefError } from "../errors.ts";

/** Where code of a conversation's object finds itself. */
export interface ObjectContext {
  readonly env: object;
  /** By its name, which `conversation-of.ts` makes, it is known whose it is. */
  readonly state: Pick<DurableObjectState, "id" | "waitUntil">;
}

/**
 * Whose a conversation is, from its object's name, which `conversation-of.ts` makes. Undefined for an object
 * that is no conversation: the parts of a file have a name of three elements.
 */
export function conversationIn(name = "null") {
  try {
    const parts: unknown = JSON.parse(name);
    if (!Array.isArray(parts) || parts.length !== 2) return undefined;
    const [tenant, id] = parts as readonly unknown[];
    return typeof tenant === "string" && typeof id === "string" ? { tenant, id } : undefined;
  } catch {
    // Not one of our names.
    return undefined;
  }
}

export const CONVERSATION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Throws `bad_id` unless the text may be a conversation's id. */
export function requireId(id: string): string {
  if (CONVERSATION_ID.test(id) && id !== "." && id !== "..") return id;
  const message = `"${id.slice(0, 140)}" is not an id: use 1 to 128 of A-Z a-z 0-9 . _ -`;
  throw new ByrefError("bad_id", message);
}
