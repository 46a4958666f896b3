import { afterEach, beforeEach, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import type { McpDirectory, McpTools } from "../../packages/gateway/src/agents/mcp-servers.ts";
import type { McpServer } from "../../src/tool/tool-rules.ts";
import type { Json } from "../../src/value/json.ts";
import {
  type McpServerOptions,
  type OfferedTool,
  type Result,
  type RunningMcpServer,
  startMcpServer,
  textResult,
} from "./mcp-server.ts";

const running: RunningMcpServer[] = [];
const opened: McpTools[] = [];
const idle = new AbortController().signal;

/** Closes everything that a test started, after each test. A slow machine does not meet the limit of a list. */
export function endServersAfterEach(): void {
  beforeEach(() => {
    const { setTimeout: real } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((done, ms) =>
      real(done, ms === limits.replyMs ? 100 * ms : ms),
    );
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((tools) => tools.close()));
    await Promise.all(running.splice(0).map((server) => server.down()));
  });
}

export async function start(
  tools: readonly OfferedTool[],
  options?: McpServerOptions,
): Promise<RunningMcpServer> {
  const server = await startMcpServer(tools, options);
  running.push(server);
  return server;
}

export async function open(
  directory: McpDirectory,
  servers: readonly McpServer[],
  { taken = [], signal = idle }: { taken?: readonly string[]; signal?: AbortSignal } = {},
): Promise<McpTools> {
  const tools = await directory.open(servers, { taken, signal });
  opened.push(tools);
  return tools;
}

export function offering(name: string, result: Result = textResult("fine")): OfferedTool {
  return { name, answer: () => result };
}

/** Calls a tool as a turn does. */
export async function run(
  tools: McpTools,
  name: string,
  { input = {}, signal = idle }: { input?: Json; signal?: AbortSignal } = {},
): Promise<unknown> {
  const execute = tools.tools[name]?.execute as
    | ((input: unknown, options: unknown) => Promise<unknown>)
    | undefined;
  if (execute === undefined) throw new Error(`There is no tool ${name}.`);
  return execute(input, { toolCallId: "call", messages: [], abortSignal: signal });
}
