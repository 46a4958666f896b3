import type { MiddlewareHandler } from "hono";
import * as limits from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { ClientBody, tooLarge } from "./client-body.ts";
import { problem } from "./problem.ts";

/**
 * Aborts a request whose body is too large or too slow: reading it (`context.var.body`) then fails with
 * `body_too_large` or `body_timeout`. Only time spent waiting for the client counts, not time spent
 * processing. Nothing is buffered.
 */
export const limitBody: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { req } = context;
  // Values, and parts of an import, have their own limits (`receive.ts`).
  const isStreamedIn = req.raw.method === "PUT" || req.path === "/conversations/import";
  const maxBytes = isStreamedIn ? Number.POSITIVE_INFINITY : limits.maxChatBodyBytes;
  if (Number(req.header("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const body = new ClientBody(req.raw.body, maxBytes);
  context.set("body", body);
  await next();
  body.cancel();
  // The body's error replaces any response that resulted from it.
  if (body.error !== undefined) context.res = problem(body.error);
};
