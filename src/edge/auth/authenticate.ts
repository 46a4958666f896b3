import type { Context, MiddlewareHandler } from "hono";
import { ByrefError } from "../../errors.ts";
import type { AppEnv } from "../app-env.ts";
import { type Settings, settingsOf } from "../settings.ts";
import { type Authenticator, localAuthenticator, tenantOf, unauthorized } from "./authenticator.ts";
import { tenantOfTicket } from "./tickets.ts";

/**
 * Sets the request's tenant, from the authenticator or a ticket, and limits its rate. Rejects all other
 * requests.
 */
export function authenticate(authenticator: Authenticator): MiddlewareHandler<AppEnv> {
  return async (context, next) => {
    const settings = settingsOf(context.env);
    const ticket = new URL(context.req.url).searchParams.get("ticket");
    const tenant =
      ticket === null
        ? await tenantOf(authenticator, context.req.raw, settings)
        : await redeem(context, ticket, settings);
    await limitRate(context.env.RATE_LIMIT, tenant);
    context.set("tenant", tenant);
    await next();
    // Pages of other origins that received the ticket show the response as an image.
    if (ticket !== null) context.res.headers.set("cross-origin-resource-policy", "cross-origin");
  };
}

/** Returns the ticket's tenant; a key in the request is ignored. Removes the ticket from the request. */
async function redeem(
  context: Context<AppEnv>,
  ticket: string,
  settings: Settings,
): Promise<string> {
  const { req } = context;
  // A ticket does not prove where a request comes from.
  if (settings.AUTH === "none") localAuthenticator(req.raw, settings);
  const url = new URL(req.url);
  const isGet = req.raw.method === "GET";
  const tenant = isGet ? await tenantOfTicket(settings, ticket, url.pathname) : undefined;
  if (tenant === undefined) {
    throw unauthorized("The ticket is for a GET of one path and 60 seconds; get another.");
  }
  url.searchParams.delete("ticket");
  req.raw = new Request(url, req.raw);
  return tenant;
}

/**
 * Throws `rate_limited` if the binding refuses the request. The limit is approximate and protects against
 * floods; spend limits are counted elsewhere. Requests are therefore accepted while the binding fails.
 */
async function limitRate(binding: RateLimit | undefined, tenant: string): Promise<void> {
  if (binding === undefined || (await isWithin(binding, tenant))) return;
  throw new ByrefError("rate_limited", "There were too many requests; try again later.");
}

async function isWithin(binding: RateLimit, tenant: string): Promise<boolean> {
  try {
    const { success } = await binding.limit({ key: tenant });
    return success;
  } catch (error) {
    console.error(error);
    return true;
  }
}
