import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { ServerConfiguration } from "../configuration.ts";
import { type ApprovalNeeded, type CallAnswer, Gateway, type GatewayCall } from "../gateway.ts";
import { publish } from "../client-events.ts";
import { gatewayServer } from "../gateway-server.ts";
import { GatewayState } from "../gateway-state.ts";
import * as limits from "../gateway-limits.ts";
import type { LocalTools } from "../offered-tools.ts";
import { WaitingCalls } from "../running-call.ts";
import { mcpFetch } from "../../../mcp/src/mcp-fetch.ts";
import {
  type AgentContext,
  type AgentDefinition,
  agentNamed,
  type ConversationContext,
  identityIn,
  logFailure,
  type McpRequest,
  placeIn,
  type Settings,
} from "../../../../src/internal-edge.ts";
import { encoding, type Sql, sqlRows, type VariableStore } from "../../../../src/internal.ts";
import { resolveAgent, wrapOptionsFor, wrapTools } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import { toolLists } from "./tool-lists.ts";

/** The gateways of one conversation, one for each agent whose tools a client has requested. */
export class ConversationGateway {
  readonly #context: ConversationContext;
  readonly #open = new Map<string, OpenGateway>();
  readonly #waiting = new WaitingCalls();
  readonly #state: GatewayState;
  #lastError: unknown;

  constructor(context: ConversationContext) {
    this.#context = context;
    const id = crypto.randomUUID();
    this.#state = new GatewayState(context.sql, {
      // Calls of an earlier instance of the object were cut off.
      owner: { id, isAlive: (other) => other === id },
      log,
      // Data that a model has read before its first call counts, too.
      onTaint: () => context.wake(),
    });
    context.deletion.onMarked(() => this.#closeAll());
  }

  /** Answers one message of a client. Throws `not_found`. */
  async handle({ request, message, agent, conversation }: McpRequest): Promise<Response> {
    // Only a call creates the conversation.
    if (isCall(message)) this.#context.wake();
    const asker = identityIn(request.headers, this.#context);
    const gateway = this.#gatewayFor(agent, this.#context.askedBy(asker, conversation));
    const response = await gateway.handler.fetch(request, { parsedBody: message });
    // The handler also reports requests that it refuses.
    if (response.status >= 500) {
      logFailure(this.#lastError, placeIn(this.#context, "POST /conversations/:id/mcp"));
    }
    return response;
  }

  #gatewayFor(agent: string | undefined, asked: AgentContext): OpenGateway {
    const { store } = this.#context;
    const { principal, claims } = asked;
    // An agent's tools may be another's for each principal.
    const key = agent === undefined ? "" : JSON.stringify([agent, principal, claims]);
    const known = this.#open.get(key);
    if (known?.gateway.store === store) {
      known.closeLater();
      return known;
    }
    known?.close();
    const { setup } = this.#context;
    const made = this.#make(
      store,
      agent === undefined ? undefined : agentNamed(setup.agents, agent),
      asked,
    );
    this.#open.delete(key);
    for (const [oldest, open] of [...this.#open].slice(0, -limits.maxOpenGateways)) {
      open.close();
      this.#open.delete(oldest);
    }
    this.#open.set(key, made);
    made.closeLater();
    return made;
  }

  #make(
    store: VariableStore,
    agent: AgentDefinition | undefined,
    asked: AgentContext,
  ): OpenGateway {
    const context = this.#context;
    const gateway = new StoppableGateway(context, {
      servers: serversFor(context.settings, agent),
      store,
      open: transportTo,
      journal: this.#state,
      taint: this.#state.taint,
      statistics: this.#state,
      lists: toolLists,
      log,
      queries: (wrap) => context.queries?.toolsFor(wrap),
      ...(agent && { local: toolsOf(agent, asked) }),
    });
    const { approvals } = this.#state;
    const serving = { key: signingKey(context), waiting: this.#waiting, approvals };
    const handler = createMcpHandler(({ era }) => gatewayServer(gateway, serving, era), {
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

/** Its calls are stopped by a deletion of the conversation, which waits for them. */
class StoppableGateway extends Gateway {
  readonly #context: ConversationContext;

  constructor(context: ConversationContext, options: ConstructorParameters<typeof Gateway>[0]) {
    super(options);
    this.#context = context;
  }

  override async call(call: GatewayCall): Promise<CallAnswer | ApprovalNeeded> {
    const { deletion } = this.#context;
    try {
      return await deletion.stoppably((stop) =>
        super.call({ ...call, signal: AbortSignal.any([call.signal, stop]) }),
      );
    } finally {
      await this.#context.settle();
    }
  }
}

/** The servers in the settings that are for everybody, or for the agent. */
function serversFor(
  { MCP_SERVERS = [] }: Settings,
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

/** Each server has its own headers: nothing of the client's request is passed on. */
function transportTo({ address }: ServerConfiguration) {
  if (!("url" in address)) throw new Error("A Worker starts no programs.");
  if (address.isSse === true) throw new Error("A Worker knows no transport of 2024-11-05.");
  const requestInit = { headers: { ...address.headers } };
  return new StreamableHTTPClientTransport(new URL(address.url), { requestInit, fetch: mcpFetch });
}

/** The agent's own tools, with its policies. */
function toolsOf(definition: AgentDefinition, asked: AgentContext): LocalTools {
  return async (wrap) => {
    const agent = await resolveAgent(definition, asked);
    return wrapTools(agent.tools, { ...wrap, ...wrapOptionsFor(agent) });
  };
}

/** Clients send back what it signs, also after the object has hibernated. */
function signingKey({ data, sql }: ConversationContext): Uint8Array {
  const made = crypto.getRandomValues(new Uint8Array(32));
  // Nothing is signed before a call, which creates the conversation.
  return data === undefined ? made : storedKey(sql, made);
}

function storedKey(sql: Sql, made: Uint8Array): Uint8Array {
  sql.run(
    `INSERT OR IGNORE INTO meta (key, value) VALUES ('gateway_key', ?)`,
    encoding.toBase64(made),
  );
  const row = sqlRows.firstRow(sql, `SELECT value FROM meta WHERE key = 'gateway_key'`);
  return row === undefined ? made : encoding.fromBase64(sqlRows.textIn(row, "value"));
}

function isCall(message: Json): boolean {
  const messages: readonly Json[] = Array.isArray(message) ? message : [message];
  return messages.some(
    (one) =>
      one !== null && typeof one === "object" && "method" in one && one.method === "tools/call",
  );
}
