import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../app-env.ts";
import { type Door, localDoor, tenantAt, unauthorized } from "./doors.ts";
import { limitRate } from "./rate-limit.ts";
import { type Settings, settingsOf } from "../settings.ts";
import { tenantOfTicket } from "./tickets.ts";

/** Nothing behind it is reached without a tenant: by the door, or by a ticket that somebody got in there. */
export function entrance(door: Door): MiddlewareHandler<AppEnv> {
  return async (context, next) => {
    const settings = settingsOf(context.env);
    const url = new URL(context.req.url);
    const ticket = url.searchParams.get("ticket");
    const tenant =
      ticket === null
        ? await tenantAt(door, context.req.raw, settings)
        : await redeem(context, ticket, settings);
    await limitRate(context.env.RATE_LIMIT, tenant);
    context.set("tenant", tenant);
    await next();
    // A page elsewhere shows it as an image: it has been given the ticket.
    if (ticket !== null) context.res.headers.set("cross-origin-resource-policy", "cross-origin");
  };
}

/** Whoever sends a ticket stands by it: a key beside it does not count. What follows does not see it. */
async function redeem(
  context: Context<AppEnv>,
  ticket: string,
  settings: Settings,
): Promise<string> {
  const { req } = context;
  // Where a request comes from a ticket says nothing of.
  if (settings.AUTH === "none") localDoor(req.raw, settings);
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
