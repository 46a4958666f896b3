import { packageFolder } from "../bundle/page-files.ts";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createMcpHandler,
  type McpRequestContext,
  type Server,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { queryTools } from "../../../query/src/query-tools.ts";
import { nodeQueryDatabases } from "../../../adapters/src/agent/node-query-engine.ts";
import type { ServerConfiguration, ToolOffer } from "../configuration.ts";
import { Gateway } from "../gateway.ts";
import { gatewayServer, publish } from "../gateway-server.ts";
import * as limits from "../gateway-limits.ts";
import { reasonOf } from "../servers/server-errors.ts";
import { redact, secretsOf } from "../servers/secrets.ts";
import { allowedFolders } from "./allowed-folders.ts";
import { dataFolder } from "./data-folder.ts";
import { sharedStore, StateFile, stateFolder, type StatePlace } from "./state.ts";
import { environmentFor } from "./own-environment.ts";
import { ProgramTransport, readLines, readLongMessages } from "./program-transport.ts";
import { characters } from "../../../../src/internal.ts";
import { upstreamFetch } from "../servers/mcp-fetch.ts";

export interface GatewayCommand extends StatePlace {
  readonly servers: readonly ServerConfiguration[];
  /** Folders that `save_variable` may write to; without any, there is no such tool. */
  readonly allowWrite?: readonly string[];
  /** Serves HTTP on this port of the loopback address; 0 is any free one. Default: standard input and output. */
  readonly http?: number | undefined;
  /** Default: `list`. */
  readonly tools?: ToolOffer | undefined;
}

/** Serves the gateway until the client or a signal ends it. */
export async function runGateway({
  servers,
  allowWrite = [],
  http,
  tools,
  ...place
}: GatewayCommand): Promise<void> {
  const folder = stateFolder(place);
  const store = sharedStore(join(folder, "variables.sqlite"));
  const state = new StateFile(folder, log);
  const databases = nodeQueryDatabases(store);
  const gateway = new Gateway({
    servers,
    store,
    tools,
    state,
    open: transportTo,
    lists: state.lists,
    log,
    ...(allowWrite.length > 0 && {
      files: allowedFolders(allowWrite, [dirname(folder), dataFolder()]),
    }),
    queries: (wrap) => queryTools({ databases, wrap }),
    ...(existsSync(APP_FILE) && { app: () => readFileSync(APP_FILE, "utf8") }),
  });
  const make = (era: Era) => gatewayServer(gateway, era);
  let isEnding = false;
  const end = async () => {
    // A client that ends closes the input and sends a signal.
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(), limits.gatewayEndMs);
    // Calls that still run stay in the journal.
    state.endCalls();
    await gateway.close();
    await handle.close();
    state.close();
    store.close();
    process.exit();
  };
  const handle =
    http === undefined
      ? onStandardStreams(make, () => void end())
      : await overHttp(make, { gateway, port: http });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => void end());
}

const APP_FILE = join(packageFolder(import.meta.dirname), "dist/web-app/variable.html");

type Era = McpRequestContext["era"];

interface Handle {
  close(): Promise<void>;
}

function onStandardStreams(make: (era: Era) => Server, onEnd: () => void): Handle {
  const transport = new StdioServerTransport(process.stdin, process.stdout);
  readLongMessages(transport);
  process.stdin.once("close", onEnd);
  return serveStdio(({ era }) => make(era), { transport, onerror: logError });
}

async function overHttp(
  make: (era: Era) => Server,
  { gateway, port }: { readonly gateway: Gateway; readonly port: number },
): Promise<Handle> {
  // Standard input and output need none of it.
  const { listen, HttpSessions } = await import("./http.ts");
  const sessions = new HttpSessions(() => make("legacy"));
  const handler = createMcpHandler(({ era }) => make(era), {
    // A call may take longer than a client waits for the first byte of a response.
    responseMode: "sse",
    onerror: logError,
  });
  gateway.onChange((change) => publish(handler.notify, change));
  const endpoint = await listen(
    async (...received) => (await sessions.fetch(...received)) ?? handler.fetch(...received),
    port,
  );
  log(`Listening on ${endpoint.url}`);
  return {
    close: async () => {
      // Calls have ended with the gateway; their answers are written first.
      await new Promise((done) => setImmediate(done));
      await sessions.close();
      await endpoint.close();
      await handler.close();
    },
  };
}

function transportTo(server: ServerConfiguration, kind?: "sse") {
  const { name, address } = server;
  if ("url" in address) {
    const requestInit = { headers: { ...address.headers } };
    const Transport = kind === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
    return new Transport(new URL(address.url), { requestInit, fetch: upstreamFetch });
  }
  const { command, args, cwd } = address;
  const transport = new ProgramTransport({
    command,
    args: [...args],
    env: environmentFor(address),
    stderr: "pipe",
    ...(cwd !== undefined && { cwd }),
  });
  const secrets = secretsOf(server);
  if (transport.stderr !== null) {
    readLines(transport.stderr, (line) => log(`${name}: ${redact(line, secrets)}`));
  }
  return transport;
}

/** Standard output is the protocol's. A client that no longer reads standard error does not end the gateway. */
function log(line: string): void {
  // A server's words could begin a line, or control a terminal.
  console.error(`byref: ${characters.visibleText(line.replaceAll("\n", " "))}`);
}

function logError(error: Error): void {
  log(reasonOf(error));
}
