import { ByrefError } from "../errors.ts";

export const CONVERSATION_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Throws `bad_id` unless the text may be a conversation's id. */
export function requireId(id: string): string {
  if (CONVERSATION_ID.test(id) && id !== "." && id !== "..") return id;
  const message = `"${id.slice(0, 140)}" is not an id: use 1 to 128 of A-Z a-z 0-9 . _ -`;
  throw new ByrefError("bad_id", message);
}
