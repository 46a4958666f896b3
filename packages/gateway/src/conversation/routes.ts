import type { Context } from "hono";
import * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";
import { ConversationGateway } from "./conversation-gateway.ts";
import {
  type AppEnv,
  type ConversationParts,
  endpoint,
  type Endpoint,
  type GatewaySupport,
  parameters,
  schemas,
  settingsOf,
} from "../../../../src/internal-edge.ts";

/** Sent by clients of the protocol; the library reads them. */
const header = parameters.text.optional();

const message: Endpoint<ConversationParts> = endpoint(
  "POST /conversations/:id/mcp",
  {
    summary: "The conversation as an MCP server (streamable HTTP, without sessions)",
    query: { agent: parameters.text.optional().describe("Also offers this agent's tools") },
    headers: {
      "mcp-protocol-version": header,
      "mcp-session-id": header,
      "mcp-method": header,
      "mcp-name": header,
    },
    body: schemas.json.describe("A message of JSON-RPC"),
    answers: {
      200: {
        "application/json": schemas.json,
        "text/event-stream": parameters.text.describe("Messages, as events"),
      },
      202: "A notification was received",
    },
  },
  ({ body, params, query: { agent }, request }, { context }) => {
    if (context.gateway === undefined) throw new ByrefError("internal", "There is no gateway.");
    return context.gateway.handle({ request, message: body, conversation: params.id, agent });
  },
);

/** There are no sessions: no stream of the server's own messages, and nothing to end. */
const noSessions = (["GET", "DELETE"] as const).map((method): Endpoint<Context<AppEnv>> =>
  endpoint(
    `${method} /conversations/:id/mcp`,
    { summary: "Answers 405: there are no sessions", answers: { 405: "Only POST" } },
    () => new Response(null, { status: 405, headers: { allow: "POST" } }),
  ),
);

const resourceMetadata = z.strictObject({
  resource: z.url(),
  authorization_servers: z.array(z.url()),
  bearer_methods_supported: z.array(z.literal("header")),
});

const METADATA = "/.well-known/oauth-protected-resource";

/** RFC 9728: who issues the tokens that are needed here. */
const metadata = (["", "/conversations/:id/mcp"] as const).map((place): Endpoint<Context<AppEnv>> =>
  endpoint(
    `GET ${METADATA}${place}`,
    {
      summary: "Names the authorization server, where AUTH=jwt has an issuer",
      isOpen: true,
      answers: { 200: { "application/json": resourceMetadata } },
    },
    ({ request }, { env }) => {
      const { AUTH, JWT_ISSUER } = settingsOf(env);
      if (AUTH !== "jwt" || JWT_ISSUER === undefined || !URL.canParse(JWT_ISSUER)) {
        throw new ByrefError("not_found", "AUTH=jwt with a JWT_ISSUER that is a URL has metadata.");
      }
      const { origin, pathname } = new URL(request.url);
      return Response.json({
        resource: `${origin}${pathname.slice(METADATA.length)}`,
        authorization_servers: [JWT_ISSUER],
        bearer_methods_supported: ["header"],
      });
    },
  ),
);

/**
 * Pass it to `createRuntime`: each conversation is then an MCP server at `/conversations/:id/mcp`, in front of
 * the servers in `MCP_SERVERS`, whose results are the conversation's variables.
 */
export const mcpGateway: GatewaySupport = {
  open: (context) => new ConversationGateway(context),
  api: { worker: [...noSessions, ...metadata], conversation: [message], components: {} },
  challenge: ({ url }, env) => {
    const { origin, pathname } = new URL(url);
    if (!/^\/conversations\/[^/]+\/mcp$/.test(pathname)) return undefined;
    const { AUTH, JWT_ISSUER } = settingsOf(env);
    if (AUTH !== "jwt" || JWT_ISSUER === undefined) return undefined;
    return `Bearer resource_metadata="${origin}${METADATA}${pathname}"`;
  },
};
