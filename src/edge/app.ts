import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { limits } from "../limits.ts";
import type { FrontEnd } from "../plan/front-end.ts";
import { version } from "../version.ts";
import type { Agent } from "../turn/agent.ts";
import { corsOrigins, type Door } from "./doors.ts";
import { problem, problemOf } from "./problem.ts";
import { conversationRoutes } from "./routes/conversations.ts";
import { messageRoutes } from "./routes/messages.ts";
import { planRoutes } from "./routes/plans.ts";
import { socketRoutes } from "./routes/socket.ts";
import { variableRoutes } from "./routes/variables.ts";
import { settingsOf } from "./settings.ts";

/** The bindings that the Worker needs; settings are read from the rest (`settings.ts`). */
export interface Bindings {
  readonly CONVERSATIONS: DurableObjectNamespace;
  /** Holds values too large for rows; without it they stay in the object, up to its quota. */
  readonly BLOBS?: R2Bucket;
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
  readonly frontEnds: readonly FrontEnd[];
}

/** Every route. All but `/health` lie behind the door. */
export function createApp({ agents, door, frontEnds }: AppOptions) {
  const app = new Hono<AppEnv>();
  app.use(secureHeaders());
  app.get("/health", (context) => context.json({ ok: true, version }));
  app.use((context, next) => {
    const origin = corsOrigins(settingsOf(context.env));
    return origin.length === 0
      ? next()
      : cors({ origin, exposeHeaders: ["etag", "location", "content-range", "accept-ranges"] })(
          context,
          next,
        );
  });
  app.use(async (context, next) => {
    const settings = settingsOf(context.env);
    context.set("tenant", await door(context.req.raw, settings));
    await next();
  });
  const limitChat = limitBody(limits.maxChatBodyBytes);
  app.use((context, next) => (isValuePut(context) ? next() : limitChat(context, next)));
  app.get("/agents", (context) =>
    context.json({ agents: agents.map(({ name, description }) => ({ name, description })) }),
  );
  app.route("/conversations", conversationRoutes());
  app.route("/conversations", messageRoutes());
  app.route("/conversations", socketRoutes());
  app.route("/conversations", variableRoutes());
  app.route("/conversations", planRoutes(frontEnds));
  app.notFound((context) =>
    problemOf("not_found", `There is nothing at ${context.req.method} ${context.req.path}.`),
  );
  app.onError((error) => problem(error));
  return app;
}

function limitBody(maxSize: number) {
  return bodyLimit({
    maxSize,
    onError: () => problemOf("body_too_large", `A body is at most ${maxSize} bytes.`),
  });
}

/** Values are counted as they stream in (`receive.ts`). */
function isValuePut({ req }: Context): boolean {
  return req.method === "PUT";
}
