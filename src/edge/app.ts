import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { cors } from "hono/cors";
import type { Agent } from "../turn/agent.ts";
import { type Api, mergedApi } from "./api.ts";
import type { AppEnv } from "./app-env.ts";
import { authenticate } from "./auth/authenticate.ts";
import type { Authenticator } from "./auth/authenticator.ts";
import { type ApiOptions, apiOf } from "./core-api.ts";
import { forward } from "./forward.ts";
import { limitBody } from "./http/limit-body.ts";
import { problem, problemOf } from "./http/problem.ts";
import { readText } from "./http/read-body.ts";
import { setSecurityHeaders } from "./http/security-headers.ts";
import { workerApi } from "./routes/worker.ts";
import { settingsOf } from "./settings.ts";

export interface AppOptions extends ApiOptions {
  readonly agents: readonly Agent[];
  readonly authenticator: Authenticator;
}

/** The Worker. All endpoints except `/health` require authentication. */
export function createApp({ agents, authenticator, ...options }: AppOptions) {
  const api: Required<Api> = mergedApi([workerApi(agents, () => api), apiOf(options)]);
  const app = new Hono<AppEnv>();
  const serve = (endpoints: Api["worker"] = []) => {
    for (const endpoint of endpoints) {
      app.on(endpoint.method, endpoint.path, (context) => {
        const { req } = context;
        const text = () => readText(context);
        return endpoint.handle({ request: req.raw, params: req.param(), text }, context);
      });
    }
  };
  app.use(async (context, next) => {
    try {
      await next();
    } catch (error) {
      // `onError` receives only instances of Error; this is another thrown value.
      context.res = problem(error);
    }
    setSecurityHeaders(context.res);
  });
  serve(api.worker.filter(({ isOpen }) => isOpen === true));
  app.use((context, next) => {
    const { CORS_ORIGINS: origin = [] } = settingsOf(context.env);
    return origin.length === 0
      ? next()
      : cors({ origin: [...origin], exposeHeaders: EXPOSED_HEADERS })(context, next);
  });
  app.use(authenticate(authenticator));
  app.use(async (context, next) => (isSlashed(context) ? nothingAt(context) : next()));
  app.use(limitBody);
  serve(api.worker.filter(({ isOpen }) => isOpen !== true));
  for (const endpoint of api.conversation) {
    app.on(endpoint.method, endpoint.path, (context) => forward(context, endpoint));
  }
  app.notFound(nothingAt);
  app.onError((error) => problem(error));
  return app;
}

/** Response headers that pages of other origins may read. */
const EXPOSED_HEADERS = ["etag", "location", "content-range", "accept-ranges", "retry-after"];

function nothingAt({ req }: Context): Response {
  return problemOf("not_found", `There is nothing at ${req.method} ${req.path}.`);
}

/**
 * True if the path ends with a slash. Hono's smallest router ignores a final slash, so a request whose client
 * omitted a variable's name by mistake would reach all variables.
 */
function isSlashed({ req }: Context): boolean {
  return req.path.endsWith("/");
}
