import { Hono } from "hono/tiny";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { AppEnv } from "../app-env.ts";
import { readJson } from "../http/read-body.ts";
import { requireId } from "../conversation-name.ts";
import { parse } from "../http/parse.ts";
import { settingsOf } from "../settings.ts";
import { newTicket } from "../auth/tickets.ts";

/** `POST …/tickets`. */
export const ticketBody = z.strictObject({ path: z.string().max(2_048) });

/** Tickets: for what cannot send a header. Nothing is written, and nobody is asked whether it is there. */
export function ticketRoutes() {
  const routes = new Hono<AppEnv>();

  routes.post("/:id/tickets", async (context) => {
    const { path } = parse(ticketBody, await readJson(context));
    const base = `/conversations/${requireId(context.req.param("id"))}/`;
    // As a request will have it: without dots that lead elsewhere, and without a query.
    const isPath = URL.parse(path, context.req.url)?.pathname === path;
    if (!isPath || !path.startsWith(base)) {
      throw new ByrefError("bad_request", `path must be one below ${base}, without a query.`);
    }
    const ticket = await newTicket(settingsOf(context.env), context.get("tenant"), path);
    return context.json({ ticket }, 201);
  });

  return routes;
}
