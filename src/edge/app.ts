import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { limits } from "../limits.ts";
import { version } from "../version.ts";
import type { Agent } from "../turn/agent.ts";
import { corsOrigins, type Door } from "./doors.ts";
import { problem, problemOf } from "./problem.ts";
import { messageRoutes } from "./routes/messages.ts";
import { variableRoutes } from "./routes/variables.ts";
import { readSettings } from "./settings.ts";

/** The bindings that the Worker needs; settings are read from the rest (`settings.ts`). */
export interface Bindings {
  readonly CONVERSATIONS: DurableObjectNamespace;
}

export interface AppEnv {
  Bindings: Bindings;
  Variables: {
    /** Whose request it is, as the door said. */
    tenant: string;
  };
}

export interface AppOptions {
  readonly agents: readonly Agent[];
  readonly door: Door;
}

/** Every route. All but `/health` lie behind the door. */
export function createApp({ agents, door }: AppOptions) {
  const app = new Hono<AppEnv>();
  app.use(secureHeaders());
  app.get("/health", (context) => context.json({ ok: true, version }));
  app.use((context, next) => {
    const origin = corsOrigins(readSettings({ ...context.env }));
    return origin.length === 0
      ? next()
      : cors({ origin, exposeHeaders: ["etag", "location"] })(context, next);
  });
  app.use(async (context, next) => {
    const settings = readSettings({ ...context.env });
    context.set("tenant", await door(context.req.raw, settings));
    await next();
  });
  app.use(
    bodyLimit({
      maxSize: limits.maxChatBodyBytes,
      onError: () =>
        problemOf("body_too_large", `A body is at most ${limits.maxChatBodyBytes} bytes.`),
    }),
  );
  app.get("/agents", (context) =>
    context.json({ agents: agents.map(({ name, description }) => ({ name, description })) }),
  );
  app.route("/conversations", messageRoutes());
  app.route("/conversations", variableRoutes());
  app.notFound((context) =>
    problemOf("not_found", `There is nothing at ${context.req.method} ${context.req.path}.`),
  );
  app.onError((error) => problem(error));
  return app;
}
