import { Hono } from "hono/tiny";
import type { Api } from "./api.ts";
import type { ConversationParts } from "./conversation-parts.ts";
import { problem } from "./http/problem.ts";

/**
 * The endpoints of a conversation's object. All objects share one router, which receives the parts of one
 * conversation.
 */
export function conversationRoutes({ conversation, internal }: Required<Api>) {
  const routes = new Hono<{ Bindings: ConversationParts }>();
  for (const endpoint of [...conversation, ...internal]) {
    routes.on(endpoint.method, endpoint.path, ({ req, env }) => {
      const text = () => req.raw.text();
      return endpoint.handle({ request: req.raw, params: req.param(), text }, env);
    });
  }
  routes.onError((error) => problem(error));
  return routes;
}
