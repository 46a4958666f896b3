import { Hono } from "hono/tiny";
import { ByrefError } from "../../errors.ts";
import type { AppEnv } from "../app-env.ts";
import { conversationOf } from "../conversation-of.ts";
import { isAllowedOrigin } from "../auth/authenticator.ts";
import { type Settings, settingsOf } from "../settings.ts";

/** Where the AI SDK's `WebSocketChatTransport` connects. */
export function socketRoutes() {
  const routes = new Hono<AppEnv>();

  routes.get("/:id/socket", async (context) => {
    const request = context.req.raw;
    requireOrigin(request, settingsOf(context.env));
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      throw new ByrefError("bad_request", "A WebSocket opens here: send Upgrade: websocket.");
    }
    const id = context.req.param("id");
    const { status, headers, body, webSocket } = await conversationOf(context).fetch(
      `http://conversation/socket/${id}`,
      { headers: { upgrade: "websocket" } },
    );
    // A response from another place has headers that cannot be added to.
    return new Response(body, { status, headers, webSocket });
  });

  return routes;
}

/**
 * No browser asks whether a page may open a socket: it says whose page it is, and sends its cookies along.
 * So whoever was authenticated, it must be a page of ours, one that `CORS_ORIGINS` names, or no page.
 */
function requireOrigin({ headers, url }: Request, settings: Settings): void {
  const origin = headers.get("origin");
  if (origin === null) return;
  const host = headers.get("host") ?? new URL(url).host;
  if (isAllowedOrigin(origin, host, settings)) return;
  throw new ByrefError(
    "foreign_origin",
    `Pages of ${origin} may not connect here; see CORS_ORIGINS.`,
  );
}
