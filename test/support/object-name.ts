import type { Context } from "hono";
import type { AppEnv } from "../../src/edge/app-env.ts";
import { conversationOf } from "../../src/edge/conversation-of.ts";

/** Returns the name of the object that holds a tenant's conversation. */
export function objectNameOf(tenant: string, id: string): string {
  const names: string[] = [];
  const CONVERSATIONS = {
    idFromName: (name: string) => names.push(name),
    get: () => undefined,
  };
  // All that `conversationOf` may use of a request: the tenant, the bindings and the requested location.
  const given = {
    get: () => ({ tenant }),
    env: { CONVERSATIONS },
    req: { query: () => undefined },
  };
  const context = given as unknown as Context<AppEnv>;
  conversationOf(context, id);
  const [name] = names;
  if (name === undefined || names.length > 1) throw new Error(`It has ${names.length} names.`);
  return name;
}
