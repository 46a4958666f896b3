import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Identity } from "../../tool/identity.ts";
import { nameIn, type ObjectContext } from "../conversation-of.ts";

/** Set by the Worker, which forwards no header of this name from a client. */
const HEADER = "x-byref-identity";

/** The header that tells a conversation's object who asks. */
export function identityHeader(identity: Identity): [name: string, value: string] {
  const { tenant, principal, claims } = identity;
  const text = encodeURIComponent(JSON.stringify({ tenant, principal, claims }));
  if (text.length <= limits.maxIdentityChars) return [HEADER, text];
  throw new ByrefError("unauthorized", "The principal and its claims are too long.");
}

/** Returns who sent a request that the Worker forwarded. */
export function identityIn(headers: Headers, { state }: Pick<ObjectContext, "state">): Identity {
  const given = headers.get(HEADER);
  // The Worker encoded it.
  const identity = given === null ? undefined : (JSON.parse(decodeURIComponent(given)) as Identity);
  return ofTenant(identity, { state });
}

/**
 * Returns the identity of a request or a stored turn. The tenant is the one in the object's name: what is said of
 * another tenant does not count. Throws if there is neither.
 */
export function ofTenant(identity: Identity | undefined, { state }: Pick<ObjectContext, "state">) {
  // An object does not know a name of over 1,024 bytes, or its name when an alarm from before 2026-03-15 wakes it.
  const tenant = nameIn(state.id.name).tenant ?? identity?.tenant;
  if (tenant === undefined) {
    throw new ByrefError("internal", "The tenant of this conversation is unknown.");
  }
  return identity?.tenant === tenant ? identity : { tenant };
}
