import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { describePrompt } from "../../turn/describe-prompt.ts";
import { identityIn } from "../auth/forwarded-identity.ts";
import { type ConversationParts, statusOf } from "../conversation-parts.ts";
import { type Endpoint, endpoint } from "../http/endpoint.ts";
import { after, pageSize, text } from "../http/parameters.ts";
import { preferred } from "../http/request-headers.ts";
import * as schemas from "../openapi/schemas.ts";
import { requireWellFormed } from "../../value/well-formed.ts";
import { watchTurn } from "../turns/turn-response.ts";

/** `PATCH /conversations/:id`. */
export const titleBody = z.strictObject({ title: z.string().max(limits.maxLineChars) });

const conversation = { "application/json": schemas.conversation };
/** A client that reconnects repeats its URL, and sends the last id it received in the header. */
const headers = { "Last-Event-ID": after };

export const conversationEndpoints: readonly Endpoint<ConversationParts>[] = [
  endpoint(
    "GET /conversations/:id",
    { summary: "Returns a conversation", answers: { 200: conversation } },
    ({ params: { id } }, parts) => Response.json({ id, ...infoOf(parts) }),
  ),
  endpoint(
    "PATCH /conversations/:id",
    {
      summary: "Changes the conversation's title",
      body: titleBody,
      answers: { 200: conversation },
    },
    ({ params: { id }, body: { title } }, parts) => {
      requireWellFormed(title, "A title");
      parts.context.requireExisting().setTitle(title);
      parts.context.index.update();
      return Response.json({ id, ...infoOf(parts) });
    },
  ),
  endpoint(
    "DELETE /conversations/:id",
    { summary: "Deletes a conversation with all its data", answers: { 204: "Deleted" } },
    async (_, { context }) => {
      context.requireExisting();
      await context.deletion.start();
      return new Response(null, { status: 204 });
    },
  ),
  endpoint(
    "POST /conversations/:id/stop",
    {
      summary: "Stops the running turn",
      answers: { 200: { "application/json": schemas.stopped } },
    },
    (_, { context }) => {
      context.requireExisting();
      return Response.json({ stopped: context.queue.stop() });
    },
  ),
  endpoint(
    "GET /conversations/:id/stream",
    {
      summary: "Streams the running turn",
      query: { after },
      headers,
      answers: { 200: { "text/event-stream": text }, 204: "No turn is running" },
    },
    ({ query, headers, request }, { context }) => {
      const accept = request.headers.get("accept");
      return watchTurn(context, { after: headers["Last-Event-ID"] ?? query.after, accept });
    },
  ),
  endpoint(
    "GET /conversations/:id/events",
    {
      summary: "Lists or streams events, without values",
      query: { after, limit: pageSize(limits.maxPageSize) },
      headers,
      answers: { 200: { "application/json": schemas.events, "text/event-stream": text } },
    },
    ({ query, headers, request }, { context }) => {
      const after = headers["Last-Event-ID"] ?? query.after ?? 0;
      const accept = request.headers.get("accept");
      if (preferred(accept, ["application/json", "text/event-stream"]) === "application/json") {
        return Response.json(context.listEvents({ after, limit: query.limit }));
      }
      const head = context.data?.journal.head();
      const turn = head?.isOpen === true && head.kind !== "run" ? head.id : undefined;
      return context.eventStreams.open((page) => context.listEvents(page), after, turn);
    },
  ),
  endpoint(
    "GET /conversations/:id/socket",
    {
      summary: "Opens a WebSocket for WebSocketChatTransport",
      isSocket: true,
      answers: { 101: "The socket is open" },
    },
    ({ params: { id }, request: { headers } }, { context, sockets }) => {
      const isSocket = headers.get("upgrade")?.toLowerCase() === "websocket";
      if (isSocket) return sockets.open(id, identityIn(headers, context));
      const message = "This endpoint opens a WebSocket: send Upgrade: websocket.";
      throw new ByrefError("bad_request", message);
    },
  ),
  // Only an object has the services that a turn has.
  endpoint(
    "GET /agents/:name/prompt",
    {
      summary: "Returns what a model is sent, with sizes in characters",
      query: { conversation: text.optional() },
      answers: { 200: { "application/json": schemas.prompt } },
    },
    async ({ params: { name }, query: { conversation = "" }, request }, { context }) => {
      const history = conversation === "" ? undefined : context.requireExisting().history;
      const asked = context.askedBy(identityIn(request.headers, context), conversation);
      const { model, equip } = context.chooseAgent({ name, asked });
      const equipped = await equip(request.signal);
      try {
        const { store } = context;
        const services = context.servicesFor(asked);
        const { agent } = equipped;
        return Response.json(await describePrompt({ agent, model, store, services, history }));
      } finally {
        // The response does not wait until sessions are closed.
        void equipped.close();
      }
    },
  ),
];

/** In the object of a user. */
export const userDeletionEndpoint: Endpoint<ConversationParts> = endpoint(
  "DELETE /user",
  { summary: "Deletes all values of the user who asks", answers: { 204: "Deleted" } },
  async (_, { context }) => {
    if (context.data !== undefined) await context.deletion.start();
    return new Response(null, { status: 204 });
  },
);

function infoOf(parts: ConversationParts) {
  const { info } = parts.context.requireExisting();
  return { ...info, status: statusOf(parts) ?? "idle" };
}
