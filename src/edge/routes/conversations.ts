import type { HonoRequest } from "hono";
import { Hono } from "hono/tiny";
import * as z from "zod";
import * as limits from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { conversationOf } from "../conversation-of.ts";
import { pageSize, parse, wholeNumberIn } from "../http/parse.ts";
import { passedOn } from "../http/passed-on.ts";
import { preferred } from "../http/preferred.ts";
import { readJson } from "../http/read-body.ts";

/** `PATCH /conversations/:id`. */
export const titleBody = z.strictObject({ title: z.string().max(limits.maxTitleChars) });

/** A conversation as a whole, and its events. */
export function conversationRoutes() {
  const routes = new Hono<AppEnv>();

  routes.get("/:id", async (context) => {
    const id = context.req.param("id");
    return context.json({ id, ...(await conversationOf(context).about()) });
  });

  routes.patch("/:id", async (context) => {
    const id = context.req.param("id");
    const { title } = parse(titleBody, await readJson(context));
    return context.json({ id, ...(await conversationOf(context).setTitle(title)) });
  });

  routes.delete("/:id", async (context) => {
    await conversationOf(context).deleteAll();
    return context.body(null, 204);
  });

  routes.post("/:id/stop", async (context) => {
    const stopped = await conversationOf(context).stop();
    return context.json({ stopped });
  });

  routes.get("/:id/stream", async (context) => {
    const after = afterIn(context.req);
    const query = after === undefined ? "" : `?after=${after}`;
    const conversation = conversationOf(context);
    const response = await conversation.fetch(`http://conversation/stream${query}`);
    return passedOn(response);
  });

  routes.get("/:id/events", async (context) => {
    const { limit } = context.req.query();
    const after = afterIn(context.req) ?? 0;
    const conversation = conversationOf(context);
    const accept = context.req.header("accept");
    if (preferred(accept, ["application/json", "text/event-stream"]) === "application/json") {
      return context.json(await conversation.listEvents({ after, limit: pageSize(limit) }));
    }
    const response = await conversation.fetch(`http://conversation/events?after=${after}`);
    return passedOn(response);
  });

  return routes;
}

/** A client that connects again sends its old address, and behind it what it has had since. */
function afterIn(request: HonoRequest): number | undefined {
  const asked = request.header("last-event-id") ?? request.query("after");
  return wholeNumberIn(asked, "after", { min: 0 });
}
