import type { MiddlewareHandler } from "hono";
import * as limits from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { ClientBody, tooLarge } from "./client-body.ts";
import { problem } from "./problem.ts";

/**
 * Gives up a request whose body is too large, stops, or trickles: reading it (`context.var.body`) then
 * fails, and the answer is `body_too_large` or `body_timeout`. Only waiting for the client counts, not how
 * long it takes to do something with what came. Nothing is held here.
 */
export const limitBody: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { req } = context;
  // Values, and parts of an import, have bounds of their own (`receive.ts`).
  const isStreamedIn = req.raw.method === "PUT" || req.path === "/conversations/import";
  const maxBytes = isStreamedIn ? Number.POSITIVE_INFINITY : limits.maxChatBodyBytes;
  if (Number(req.header("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const body = new ClientBody(req.raw.body, maxBytes);
  context.set("body", body);
  await next();
  body.letGo();
  // Whatever it was that this has spoiled.
  if (body.error !== undefined) context.res = problem(body.error);
};
