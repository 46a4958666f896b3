import type { Context } from "hono";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { AppEnv } from "../app-env.ts";
import { requireId } from "../conversation-name.ts";
import { newTicket } from "../auth/tickets.ts";
import { type Endpoint, endpoint } from "../http/endpoint.ts";
import * as schemas from "../openapi/schemas.ts";
import { settingsOf } from "../settings.ts";

/** `POST …/tickets`. */
export const ticketBody = z.strictObject({ path: z.string().max(2_048) });

/** Tickets are for clients that cannot send headers. Creating one writes nothing and calls no conversation. */
export const ticketEndpoint: Endpoint<Context<AppEnv>> = endpoint(
  "POST /conversations/:id/tickets",
  {
    summary: "Gives a ticket: one path for 60 s, as ?ticket=, for what cannot send headers",
    body: ticketBody,
    answers: { 201: { "application/json": schemas.ticket } },
  },
  async ({ params: { id }, body: { path }, request }, context) => {
    const base = `/conversations/${requireId(id)}/`;
    // As it will be in a request: without dot segments, and without a query.
    const isPath = URL.parse(path, request.url)?.pathname === path;
    if (!isPath || !path.startsWith(base)) {
      throw new ByrefError("bad_request", `path must be one below ${base}, without a query.`);
    }
    const ticket = await newTicket(settingsOf(context.env), context.get("tenant"), path);
    return Response.json({ ticket }, { status: 201 });
  },
);
