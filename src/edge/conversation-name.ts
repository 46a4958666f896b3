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
