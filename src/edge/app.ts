import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { cors } from "hono/cors";
import { version } from "../version.ts";
import type { Agent } from "../turn/agent.ts";
import type { AppEnv } from "./app-env.ts";
import { limitBody } from "./http/limit-body.ts";
import { authenticate } from "./auth/authenticate.ts";
import type { Authenticator } from "./auth/authenticator.ts";
import type { PlanSupport } from "./plans/plans.ts";
import { problem, problemOf } from "./http/problem.ts";
import { conversationRoutes } from "./routes/conversations.ts";
import { directoryRoutes } from "./routes/directory.ts";
import { messageRoutes } from "./routes/messages.ts";
import { socketRoutes } from "./routes/socket.ts";
import { ticketRoutes } from "./routes/tickets.ts";
import { variableRoutes } from "./routes/variables.ts";
import { setSecurityHeaders } from "./http/security-headers.ts";
import { settingsOf } from "./settings.ts";
import { coreApi } from "./openapi/core.ts";
import { openApiOf } from "./openapi/document.ts";
import type { Transfers } from "./transfer/transfer-requests.ts";

export interface AppOptions {
  readonly agents: readonly Agent[];
  readonly authenticator: Authenticator;
  readonly plans?: PlanSupport | undefined;
  readonly transfer?: Transfers | undefined;
}

/** Every route. All but `/health` need authentication. */
export function createApp({ agents, authenticator, plans, transfer }: AppOptions) {
  const app = new Hono<AppEnv>();
  app.use(async (context, next) => {
    try {
      await next();
    } catch (error) {
      // Not even an Error: `onError` does not get it.
      context.res = problem(error);
    }
    setSecurityHeaders(context.res);
  });
  app.get("/health", (context) => context.json({ ok: true, version }));
  app.use((context, next) => {
    const { CORS_ORIGINS: origin = [] } = settingsOf(context.env);
    return origin.length === 0
      ? next()
      : cors({ origin: [...origin], exposeHeaders: EXPOSED_HEADERS })(context, next);
  });
  app.use(authenticate(authenticator));
  app.use(async (context, next) => (isSlashed(context) ? nothingAt(context) : next()));
  app.use(limitBody);
  app.get("/agents", (context) =>
    context.json({ agents: agents.map(({ name, description }) => ({ name, description })) }),
  );
  // It takes some milliseconds, which most isolates need not spend.
  let description: object | undefined;
  app.get("/openapi.json", (context) => {
    description ??= openApiOf(app.routes, [coreApi, transfer?.api ?? [], plans?.api ?? []].flat());
    return context.json(description);
  });
  if (transfer !== undefined) app.route("/conversations", transfer.routes());
  app.route("/conversations", directoryRoutes());
  app.route("/conversations", conversationRoutes());
  app.route("/conversations", messageRoutes());
  app.route("/conversations", socketRoutes());
  app.route("/conversations", variableRoutes());
  app.route("/conversations", ticketRoutes());
  if (plans !== undefined) app.route("/conversations", plans.routes());
  app.notFound(nothingAt);
  app.onError((error) => problem(error));
  return app;
}

/** What a page of another origin may read, beside the body. */
const EXPOSED_HEADERS = ["etag", "location", "content-range", "accept-ranges", "retry-after"];

function nothingAt({ req }: Context): Response {
  return problemOf("not_found", `There is nothing at ${req.method} ${req.path}.`);
}

/**
 * Hono's smallest router takes a slash at the end for none: a name that a client has left out by mistake
 * would lead to all variables.
 */
function isSlashed({ req }: Context): boolean {
  return req.path.endsWith("/");
}
