import {
  Client,
  type ClientCapabilities,
  InMemoryTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { createMcpHandler } from "@modelcontextprotocol/server";
import type {
  ServerAddress,
  ToolFilter,
  ToolOffer,
} from "../../packages/gateway/src/configuration.ts";
import { Gateway } from "../../packages/gateway/src/gateway.ts";
import { gatewayServer, publish } from "../../packages/gateway/src/gateway-server.ts";
import { GatewayState } from "../../packages/gateway/src/gateway-state.ts";
import type { FileSaver } from "../../packages/gateway/src/own-tools.ts";
import type { ListKeeper } from "../../packages/gateway/src/tool-lists.ts";
import { nodeQueryDatabases } from "../../packages/adapters/src/agent/node-query-engine.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import type { QueryDatabases } from "../../packages/query/src/query-databases.ts";
import type { ServerRules } from "../../packages/gateway/src/servers/server-rules.ts";
import { NodeSql } from "./node-sql.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";

/** A server behind the gateway, created for each connection. */
export interface BehindServer {
  readonly name: string;
  readonly make: () => { connect(transport: Transport): Promise<void> };
  /** Default: a transport to the result of `make`, with a persistent connection. */
  readonly open?: () => Transport;
  readonly rules?: ServerRules;
  /** Default: all tools are offered. */
  readonly filter?: ToolFilter;
  /** Default: an address without secrets. */
  readonly address?: ServerAddress;
}

interface Options {
  readonly store?: MemoryStore;
  /** Default: those of Node. */
  readonly databases?: QueryDatabases;
  /** Default: keeps nothing, and the client need not wait for instructions. */
  readonly lists?: ListKeeper;
  readonly files?: FileSaver;
  /** With `search`, the client calls tools by `call_tool`. */
  readonly tools?: ToolOffer;
  readonly app?: () => string;
  /** Default: in memory. */
  readonly state?: GatewayState;
  /** Default: an older version, which keeps a connection. */
  readonly era?: "modern" | "legacy";
  /** Capabilities of the client, besides the elicitation of `onAsked`. */
  readonly capabilities?: ClientCapabilities;
  /** Called with the client before it connects. */
  readonly onConnecting?: (client: Client) => void;
  /** True if the test answers questions itself. */
  readonly isManual?: boolean;
  /** The user's answer. If unset, the client does not support elicitation. */
  readonly onAsked?: (message: string) => "accept" | "decline";
}

const NOTHING_KEPT: ListKeeper = { get: () => ({ instructions: "" }), set: () => undefined };

/** A gateway in this process, in front of real servers, with a real client. */
export async function startGateway(behind: readonly BehindServer[], options: Options = {}) {
  const { store = new MemoryStore(), lists = NOTHING_KEPT, files, app, onAsked } = options;
  const { databases = nodeQueryDatabases(store), state = new GatewayState(new NodeSql()) } =
    options;
  const log: string[] = [];
  const gateway = new Gateway({
    store,
    state,
    queries: (wrap) => queryTools({ databases, wrap }),
    log: (line) => log.push(line),
    lists,
    tools: options.tools,
    ...(files && { files }),
    ...(app && { app }),
    servers: behind.map(({ name, rules = {}, address, filter }) => ({
      name,
      rules,
      ...(filter && { filter }),
      address: address ?? { url: `https://${name}.example`, headers: {} },
    })),
    open: ({ name }) => {
      const found = behind.find((one) => one.name === name);
      if (found === undefined) throw new Error(`There is no ${name}.`);
      if (found.open !== undefined) return found.open();
      const made = found.make();
      const [near, far] = InMemoryTransport.createLinkedPair();
      void made.connect(far);
      return near;
    },
  });
  const { era = "legacy", isManual = false } = options;
  const asking = onAsked === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: { ...asking, ...options.capabilities },
      versionNegotiation: { mode: era === "legacy" ? era : { pin: "2026-07-28" } },
      inputRequired: { autoFulfill: !isManual },
    },
  );
  if (onAsked !== undefined) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const action = onAsked(params.message);
      return action === "accept" ? { action, content: {} } : { action };
    });
  }
  options.onConnecting?.(client);
  const sent: unknown[] = [];
  const transport = await transportTo({ gateway, era, sent });
  await client.connect(options.tools === "search" ? callingByName(transport) : transport);
  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args });
  return { client, call, gateway, store, state, log, sent };
}

/** Puts each call of a tool that a search finds into one of `call_tool`. */
function callingByName(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const { params: given = {} } = "method" in message ? message : {};
    const { name, arguments: input, ...others } = given;
    if (name === undefined || /^(?:find_tools|call_tool)$/u.test(String(name)))
      return send(message, options);
    const params = { ...others, name: "call_tool", arguments: { name, arguments: input } };
    return send({ ...message, params }, options);
  };
  return transport;
}

interface Connecting {
  readonly gateway: Gateway;
  readonly era: "modern" | "legacy";
  /** Messages sent to a client of an older version. */
  readonly sent: unknown[];
}

async function transportTo({ gateway, era, sent }: Connecting): Promise<Transport> {
  if (era === "legacy") {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const send = far.send.bind(far);
    far.send = (message, options) => {
      sent.push(message);
      return send(message, options);
    };
    await gatewayServer(gateway, era).connect(far);
    return near;
  }
  const handler = createMcpHandler(() => gatewayServer(gateway, era));
  gateway.onChange((change) => publish(handler.notify, change));
  return new StreamableHTTPClientTransport(new URL("https://gateway.example/mcp"), {
    fetch: async (to, init) => handler.fetch(new Request(to, init)),
  });
}
