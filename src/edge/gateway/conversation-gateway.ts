import { logFailure, placeIn } from "../log-failure.ts";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { ServerConfiguration } from "../../gateway/configuration.ts";
import {
  type ApprovalNeeded,
  type CallAnswer,
  Gateway,
  type GatewayCall,
} from "../../gateway/gateway.ts";
import { publish } from "../../gateway/client-events.ts";
import { gatewayServer } from "../../gateway/gateway-server.ts";
import * as limits from "../../gateway/gateway-limits.ts";
import type { LocalTools } from "../../gateway/offered-tools.ts";
import { WaitingCalls } from "../../gateway/running-call.ts";
import { firstRow, type Sql, textIn } from "../../store/rows/sql.ts";
import type { VariableStore } from "../../store/variable-store.ts";
import { mcpFetch } from "../../tool/mcp/mcp-fetch.ts";
import { wrapTools } from "../../tool/wrap-tool.ts";
import { fromBase64, toBase64 } from "../../value/base64.ts";
import type { Json } from "../../value/json.ts";
import { type Agent, wrapOptionsFor } from "../../turn/agent.ts";
import type { ConversationContext, McpRequest } from "../conversation-context.ts";
import { agentNamed } from "../turns/chosen-agent.ts";
import type { Settings } from "../settings.ts";
import { ConversationJournal } from "./conversation-journal.ts";
import { ConversationStatistics } from "./conversation-statistics.ts";
import { ConversationTaint } from "./conversation-taint.ts";
import { toolLists } from "./tool-lists.ts";

/** The gateways of one conversation, one for each agent whose tools a client has requested. */
export class ConversationGateway {
  readonly #context: ConversationContext;
  readonly #open = new Map<string, OpenGateway>();
  readonly #waiting = new WaitingCalls();
  readonly #journal: ConversationJournal;
  readonly #taint: ConversationTaint;
  readonly #statistics: ConversationStatistics;
  #lastError: unknown;

  constructor(context: ConversationContext) {
    this.#context = context;
    this.#journal = new ConversationJournal(context.sql);
    this.#taint = new ConversationTaint(context);
    this.#statistics = new ConversationStatistics(context.sql);
    context.deletion.onMarked(() => this.#closeAll());
  }

  /** Answers one message of a client. Throws `unknown_agent`. */
  async handle({ request, message, agent }: McpRequest): Promise<Response> {
    // Only a call creates the conversation.
    if (isCall(message)) this.#context.wake();
    const gateway = this.#gatewayFor(agent);
    const response = await gateway.handler.fetch(request, { parsedBody: message });
    // The handler also reports requests that it refuses.
    if (response.status >= 500) {
      logFailure(this.#lastError, placeIn(this.#context, "POST /conversations/:id/mcp"));
    }
    return response;
  }

  #gatewayFor(agent = ""): OpenGateway {
    const { store } = this.#context;
    const known = this.#open.get(agent);
    if (known?.gateway.store === store) {
      known.closeLater();
      return known;
    }
    known?.close();
    const made = this.#make(store, agent === "" ? undefined : this.#agent(agent));
    this.#open.set(agent, made);
    made.closeLater();
    return made;
  }

  #agent(name: string): Agent {
    return agentNamed(this.#context.setup.agents, name);
  }

  #make(store: VariableStore, agent: Agent | undefined): OpenGateway {
    const context = this.#context;
    const databases = context.queries?.databases;
    const gateway = new StoppableGateway(context, {
      servers: serversFor(context.settings, agent),
      store,
      open: transportTo,
      journal: this.#journal,
      taint: this.#taint,
      statistics: this.#statistics,
      lists: toolLists,
      log: (line) => console.warn(line),
      ...(databases && { databases, onQuery: (query) => context.queries?.log(query) }),
      ...(agent && { local: toolsOf(agent) }),
    });
    const serving = { key: signingKey(context), waiting: this.#waiting };
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
  agent: Agent | undefined,
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
  const requestInit = { headers: { ...address.headers } };
  return new StreamableHTTPClientTransport(new URL(address.url), { requestInit, fetch: mcpFetch });
}

/** The agent's own tools, with its policies. */
function toolsOf(agent: Agent): LocalTools {
  const options = wrapOptionsFor(agent);
  return (wrap) => wrapTools(agent.tools, { ...wrap, ...options });
}

/** Clients send back what it signs, also after the object has hibernated. */
function signingKey({ data, sql }: ConversationContext): Uint8Array {
  const made = crypto.getRandomValues(new Uint8Array(32));
  // Nothing is signed before a call, which creates the conversation.
  return data === undefined ? made : storedKey(sql, made);
}

function storedKey(sql: Sql, made: Uint8Array): Uint8Array {
  sql.run(`INSERT OR IGNORE INTO meta (key, value) VALUES ('gateway_key', ?)`, toBase64(made));
  const row = firstRow(sql, `SELECT value FROM meta WHERE key = 'gateway_key'`);
  return row === undefined ? made : fromBase64(textIn(row, "value"));
}

function isCall(message: Json): boolean {
  const messages: readonly Json[] = Array.isArray(message) ? message : [message];
  return messages.some(
    (one) =>
      one !== null && typeof one === "object" && "method" in one && one.method === "tools/call",
  );
}
