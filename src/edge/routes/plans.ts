import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { ByrefError } from "../../errors.ts";
import type { FrontEnd } from "../../plan/front-end.ts";
import type { AppEnv } from "../app.ts";
import { conversationOf } from "../conversation-of.ts";
import { mediaTypeOf, parseJson, readText, requireJsonType } from "../http/read-body.ts";
import { parse, requireId, runBody, textOf } from "../requests.ts";
import { traceHeaders } from "../telemetry/trace-parent.ts";

/** The plans of a conversation, and their runs. */
export function planRoutes(frontEnds: readonly FrontEnd[]) {
  const routes = new Hono<AppEnv>();

  routes.post("/:id/plans", async (context) => {
    const type = mediaTypeOf(context.req.raw);
    const frontEnd = frontEnds.find(({ mediaTypes }) => mediaTypes.includes(type));
    if (frontEnd === undefined) throw unsupported(type, frontEnds);
    const { format } = frontEnd;
    const text = await readText(context);
    const { agent } = context.req.query();
    return ask(context, "", { body: textOf({ format, text, agent }) });
  });

  routes.get("/:id/plans", (context) => ask(context, ""));
  routes.get("/:id/plans/:plan", (context) => ask(context, planIn(context)));

  routes.post("/:id/plans/:plan/approve", (context) =>
    ask(context, `${planIn(context)}/approve`, { body: "{}" }),
  );

  routes.post("/:id/plans/:plan/cancel", (context) =>
    ask(context, `${planIn(context)}/cancel`, { body: "{}" }),
  );

  routes.post("/:id/plans/:plan/run", async (context) => {
    const asked = parse(runBody, await bodyOf(context));
    const body = textOf({ ...asked, conversation: requireId(context.req.param("id")) });
    return ask(context, `${planIn(context)}/run`, { body });
  });

  return routes;
}

function planIn(context: Context<AppEnv>): string {
  return encodeURIComponent(context.req.param("plan") ?? "");
}

/** Without a body: nothing is said. */
async function bodyOf(context: Context<AppEnv>) {
  const text = await readText(context);
  if (text === "") return {};
  requireJsonType(context.req.raw);
  return parseJson(text);
}

/** Hands it to the conversation. */
async function ask(
  context: Context<AppEnv>,
  path: string,
  { body }: { readonly body?: string } = {},
): Promise<Response> {
  const conversation = conversationOf(context, context.req.param("id") ?? "");
  const accept = context.req.header("accept") ?? "text/event-stream";
  const response = await conversation.fetch(`http://conversation/plans/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...traceHeaders(context.req.raw), accept, "content-type": "application/json" },
    ...(body === undefined ? {} : { body }),
  });
  // A response from another place has headers that cannot be added to.
  return new Response(response.body, response);
}

function unsupported(type: string, frontEnds: readonly FrontEnd[]): ByrefError {
  const known = frontEnds.flatMap(({ mediaTypes }) => mediaTypes).join(", ");
  const message = `The body's content type is ${type || "missing"}; a plan is ${known}.`;
  return new ByrefError("unsupported_media_type", message);
}
