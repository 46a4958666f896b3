import { type McpHttpHandler, createMcpHandler } from "@modelcontextprotocol/server";
import type { ServerConfiguration } from "../configuration.ts";
import { Gateway } from "../gateway.ts";
import { gatewayServer, publish } from "../gateway-server.ts";
import { GatewayState } from "../gateway-state.ts";
import * as limits from "../gateway-limits.ts";
import type { LocalTools } from "../offered-items.ts";
import { transportInWorker } from "../servers/connecting.ts";
import {
  type AgentContext,
  type AgentDefinition,
  type ConversationParts,
  type Endpoint,
  type GatewaySupport,
  endpoint,
  identityIn,
  logFailure,
  parameters,
  placeIn,
  schemas,
  workerSettings,
  type appEnv,
  type contexts,
  chosenAgents,
} from "../../../../src/internal-edge.ts";
import { Recent, type VariableStore, json } from "../../../../src/internal.ts";
import { toolCalls, turnAgents } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { Said } from "../tool-lists.ts";
import type { Context } from "hono";
import * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";

/** The gateways of one conversation, one for each agent whose tools a client has requested. */
class ConversationGateway {
  readonly #context: contexts.ConversationContext;
  readonly #open = new Map<string, OpenGateway>();
  readonly #state: GatewayState;
  #lastError: unknown;

  constructor(context: contexts.ConversationContext) {
    this.#context = context;
    this.#state = new GatewayState(context.sql, {
      log,
      // Data that a model has read before its first call counts, too.
      prepareMeta: () => context.wake(),
    });
    context.deletion.onMarked(() => this.#closeAll());
  }

  /** Answers one message of a client. Throws `not_found`. */
  async handle(asked: contexts.McpRequest): Promise<Response> {
    const { request, message } = asked;
    // Only a call creates the conversation.
    if (isCall(message)) this.#context.wake();
    const asker = identityIn(request.headers, this.#context);
    const gateway = this.#gatewayFor(asked, this.#context.askedBy(asker, asked.conversation));
    const response = await gateway.handler.fetch(request, { parsedBody: message });
    // The handler also reports requests that it refuses.
    if (response.status >= 500) {
      logFailure(this.#lastError, placeIn(this.#context, "POST /conversations/:id/mcp"));
    }
    return response;
  }

  #gatewayFor({ agent, tools }: contexts.McpRequest, asked: AgentContext): OpenGateway {
    const { store, setup } = this.#context;
    const { principal, claims } = asked;
    // An agent's tools may be another's for each principal.
    const key = JSON.stringify(agent === undefined ? tools : [tools, agent, principal, claims]);
    let gateway = this.#open.get(key);
    if (gateway?.gateway.store !== store) {
      gateway?.close();
      const definition =
        agent === undefined ? undefined : chosenAgents.agentNamed(setup.agents, agent);
      gateway = this.#make(store, definition, { asked, tools });
      this.#open.delete(key);
      for (const [oldest, open] of [...this.#open].slice(0, -limits.maxOpenGateways)) {
        open.close();
        this.#open.delete(oldest);
      }
      this.#open.set(key, gateway);
    }
    gateway.closeLater();
    return gateway;
  }

  #make(
    store: VariableStore,
    agent: AgentDefinition | undefined,
    { asked, tools }: Pick<contexts.McpRequest, "tools"> & { readonly asked: AgentContext },
  ): OpenGateway {
    const context = this.#context;
    const gateway = new Gateway({
      servers: serversFor(context.settings, agent),
      store,
      tools,
      open: transportInWorker,
      state: this.#state,
      lists,
      log,
      queries: (wrap) => context.queries?.toolsFor(wrap),
      ...(agent && { local: toolsOf(agent, asked) }),
    });
    const call = gateway.call.bind(gateway);
    // A deletion of the conversation stops calls, and waits for them.
    gateway.call = (given) =>
      context.deletion
        .stoppably((stop) => call({ ...given, signal: AbortSignal.any([given.signal, stop]) }))
        .finally(() => context.settle());
    const handler = createMcpHandler(({ era }) => gatewayServer(gateway, era), {
      maxSubscriptions: limits.maxGatewaySubscriptions,
      onerror: (error) => {
        this.#lastError = error;
      },
    });
    return new OpenGateway(gateway, handler);
  }

  #closeAll(): void {
    for (const gateway of this.#open.values()) gateway.close();
    this.#open.clear();
  }
}

function log(line: string): void {
  console.warn(line);
}

/** A gateway whose connections to servers are closed when it has nothing to do. */
class OpenGateway {
  readonly gateway: Gateway;
  readonly handler: McpHttpHandler;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(gateway: Gateway, handler: McpHttpHandler) {
    this.gateway = gateway;
    this.handler = handler;
    gateway.onChange((change) => publish(handler.notify, change));
  }

  /** An object with open connections cannot hibernate. */
  closeLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.gateway.isIdle) void this.gateway.disconnect();
      else this.closeLater();
    }, limits.gatewayIdleMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    void this.gateway.close();
    // Answers of earlier calls may still be on their way to the client.
    setTimeout(() => void this.handler.close(), 0);
  }
}

function serversFor(
  { MCP_SERVERS = [] }: workerSettings.Settings,
  agent: Pick<AgentDefinition, "name"> | undefined,
): readonly ServerConfiguration[] {
  return MCP_SERVERS.filter(
    ({ agents }) => agents === undefined || (agent !== undefined && agents.includes(agent.name)),
  ).map(({ name, url, headers = {}, tools = {} }) => ({
    name,
    address: { url, headers },
    rules: { tools },
  }));
}

function toolsOf(definition: AgentDefinition, asked: AgentContext): LocalTools {
  return async (wrap) => {
    const agent = await turnAgents.resolveAgent(definition, asked);
    return toolCalls.wrapTools(agent.tools, { ...wrap, ...turnAgents.wrapOptionsFor(agent) });
  };
}

function isCall(message: Json): boolean {
  const messages: readonly Json[] = Array.isArray(message) ? message : [message];
  return messages.some((one) => json.isJsonObject(one) && one.method === "tools/call");
}

/** Lists of tools for the lifetime of the isolate: another conversation need not wait for the servers. */
const lists = new Recent<Said>(256);

/** Sent by clients of the protocol; the library reads them. */
const header = parameters.text.optional();

const query = {
  agent: parameters.text.optional().describe("Also offers this agent's tools"),
  tools: z.enum(["list", "search"]).default("list").describe("`search`: only what finds tools"),
};

const message: Endpoint<ConversationParts> = endpoint(
  "POST /conversations/:id/mcp",
  {
    summary: "The conversation as an MCP server (streamable HTTP, without sessions)",
    query,
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
  ({ body, params, query: { agent, tools }, request }, { context }) => {
    if (context.gateway === undefined) throw new ByrefError("internal", "There is no gateway.");
    return context.gateway.handle({
      request,
      message: body,
      conversation: params.id,
      agent,
      tools,
    });
  },
);

/** There are no sessions: no stream of the server's own messages, and nothing to end. Clients ask at the same URL. */
const noSessions = (["GET", "DELETE"] as const).map((method): Endpoint<Context<appEnv.AppEnv>> =>
  endpoint(
    `${method} /conversations/:id/mcp`,
    { summary: "Answers 405: there are no sessions", query, answers: { 405: "Only POST" } },
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
const metadata = (["", "/conversations/:id/mcp"] as const).map(
  (place): Endpoint<Context<appEnv.AppEnv>> =>
    endpoint(
      `GET ${METADATA}${place}`,
      {
        summary: "Names the authorization server, where AUTH=jwt has an issuer",
        isOpen: true,
        answers: { 200: { "application/json": resourceMetadata } },
      },
      ({ request }, { env }) => {
        const { AUTH, JWT_ISSUER } = workerSettings.settingsOf(env);
        if (AUTH !== "jwt" || JWT_ISSUER === undefined || !URL.canParse(JWT_ISSUER)) {
          throw new ByrefError(
            "not_found",
            "AUTH=jwt with a JWT_ISSUER that is a URL has metadata.",
          );
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
    const { AUTH, JWT_ISSUER } = workerSettings.settingsOf(env);
    if (AUTH !== "jwt" || JWT_ISSUER === undefined) return undefined;
    return `Bearer resource_metadata="${origin}${METADATA}${pathname}"`;
  },
};
