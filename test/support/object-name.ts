import type { Context } from "hono";
import type { AppEnv } from "../../src/edge/app-env.ts";
import { conversationOf } from "../../src/edge/conversation-of.ts";

/** The name that the object of a tenant's conversation is asked for by. */
export function objectNameOf(tenant: string, id: string): string {
  const names: string[] = [];
  const CONVERSATIONS = {
    idFromName: (name: string) => names.push(name),
    get: () => undefined,
  };
  // All that `conversationOf` may know of a request: whose it is, the bindings, and where it is to live.
  const given = { get: () => tenant, env: { CONVERSATIONS }, req: { query: () => undefined } };
  const context = given as unknown as Context<AppEnv>;
  conversationOf(context, id);
  const [name] = names;
  if (name === undefined || names.length > 1) throw new Error(`It has ${names.length} names.`);
  return name;
}
