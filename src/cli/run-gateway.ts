import { readFileSync } from "node:fs";
import { join } from "node:path";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { hasNodeSqlite } from "../agent/node-sql.ts";
import { nodeQueryEngine } from "../agent/node-query-engine.ts";
import { readConfiguration, type ServerConfiguration } from "../gateway/configuration.ts";
import { Gateway } from "../gateway/gateway.ts";
import { gatewayServer } from "../gateway/gateway-server.ts";
import { WaitingCalls } from "../gateway/running-call.ts";
import * as limits from "../gateway/gateway-limits.ts";
import { AllowedFolders } from "./allowed-folders.ts";
import { listFile } from "./list-file.ts";
import {
  openJournal,
  openStatistics,
  openStore,
  signingKey,
  stateFolder,
  type StatePlace,
} from "./state.ts";

export interface GatewayCommand extends StatePlace {
  readonly config: string;
  /** Folders that `save_variable` may write to; without any, there is no such tool. */
  readonly allowWrite?: readonly string[];
}

/** Serves the gateway on standard input and output, until the client ends it. */
export async function runGateway({
  config,
  allowWrite = [],
  ...place
}: GatewayCommand): Promise<void> {
  const servers = readConfiguration(readFileSync(config, "utf8"), process.env);
  const folder = stateFolder(place);
  const store = openStore(folder, log);
  const journal = openJournal(folder);
  const gateway = new Gateway({
    servers,
    store,
    ...(journal && { journal }),
    open: transportTo,
    statistics: openStatistics(folder),
    lists: listFile(join(folder, "tools.json")),
    log,
    ...(allowWrite.length > 0 && { files: new AllowedFolders(allowWrite) }),
    ...(hasNodeSqlite() && { engine: nodeQueryEngine() }),
  });
  const serving = { key: signingKey(folder), waiting: new WaitingCalls() };
  const transport = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: limits.maxGatewayMessageBytes,
  });
  const handle = serveStdio(() => gatewayServer(gateway, serving), {
    transport,
    onerror: logError,
  });
  const end = async () => {
    await handle.close();
    await gateway.close();
    journal?.close();
    if ("close" in store && typeof store.close === "function") store.close();
    process.exit();
  };
  process.stdin.once("close", () => void end());
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void end());
}

function transportTo({ address }: ServerConfiguration) {
  if ("url" in address) {
    const requestInit = { headers: { ...address.headers } };
    return new StreamableHTTPClientTransport(new URL(address.url), { requestInit });
  }
  const { command, args, env, cwd } = address;
  return new StdioClientTransport({
    command,
    args: [...args],
    // As clients start servers: what a program needs, and what the configuration gives.
    env: { ...getDefaultEnvironment(), ...env },
    maxBufferSize: limits.maxGatewayMessageBytes,
    ...(cwd !== undefined && { cwd }),
  });
}

/** Standard output is the protocol's. */
function log(line: string): void {
  process.stderr.write(`byref: ${line}\n`);
}

function logError({ message }: Error): void {
  log(message);
}
