import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import type { McpServer, Server } from "@modelcontextprotocol/server";
import type { ServerRules } from "../../src/gateway/configuration.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import { gatewayServer } from "../../src/gateway/gateway-server.ts";
import { WaitingCalls } from "../../src/gateway/running-call.ts";
import { MemoryStatistics } from "../../src/gateway/statistics.ts";
import type { FileSaver } from "../../src/gateway/save-variable.ts";
import type { ListKeeper } from "../../src/gateway/tool-lists.ts";
import { nodeQueryEngine } from "../../src/agent/node-query-engine.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";

/** A server behind the gateway, made anew for each connection. */
export interface BehindServer {
  readonly name: string;
  readonly make: () => McpServer | Server;
  readonly rules?: ServerRules;
}

interface Options {
  readonly store?: MemoryStore;
  readonly lists?: ListKeeper;
  readonly files?: FileSaver;
  /** What the person answers; without it the client cannot ask. */
  readonly onAsked?: (message: string) => "accept" | "decline";
}

/** A gateway in this process, in front of real servers, with a real client. */
export async function startGateway(behind: readonly BehindServer[], options: Options = {}) {
  const { store = new MemoryStore(), lists, files, onAsked } = options;
  const log: string[] = [];
  const open = new Map<string, McpServer | Server>();
  const statistics = new MemoryStatistics();
  const gateway = new Gateway({
    store,
    statistics,
    engine: nodeQueryEngine(),
    log: (line) => log.push(line),
    ...(lists && { lists }),
    ...(files && { files }),
    servers: behind.map(({ name, rules = {} }) => ({
      name,
      rules,
      address: { url: `https://${name}.example`, headers: {} },
    })),
    open: ({ name }) => {
      const made = behind.find((one) => one.name === name)?.make();
      if (made === undefined) throw new Error(`There is no ${name}.`);
      open.set(name, made);
      const [near, far] = InMemoryTransport.createLinkedPair();
      void made.connect(far);
      return near;
    },
  });
  const serving = { key: crypto.getRandomValues(new Uint8Array(32)), waiting: new WaitingCalls() };
  const [near, far] = InMemoryTransport.createLinkedPair();
  await gatewayServer(gateway, serving).connect(far);
  const capabilities = onAsked === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  if (onAsked !== undefined) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const action = onAsked(params.message);
      return action === "accept" ? { action, content: {} } : { action };
    });
  }
  await client.connect(near);
  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args });
  return { client, call, gateway, serving, store, statistics, log, open };
}
