import { isDeepStrictEqual } from "node:util";
import { Server } from "@modelcontextprotocol/server";
import type { Json, JsonObject } from "../../src/value/json.ts";
import { startGateway } from "./gateway.ts";
import { nameIn, textIn } from "./gateway-process.ts";
import { type McpFailure, type McpReplay, resultFor } from "./mcp-replay.ts";
import { sourceOf, type Trace, writtenWith } from "./replay.ts";

/**
 * Makes the calls of every trace as an MCP client of the gateway. Behind the gateway is a server with the
 * trace's tools. A step fails unless its tool was called with the expected input.
 */
export async function replayThroughGateway(
  traces: readonly Trace[],
  onProgress: (done: number) => void,
): Promise<McpReplay> {
  const failures: McpFailure[] = [];
  const began = performance.now();
  let calls = 0;
  for (const [index, trace] of traces.entries()) {
    failures.push(...(await replayed(trace)));
    calls += trace.steps.length;
    onProgress(index + 1);
  }
  return { calls, failures, milliseconds: performance.now() - began };
}

async function replayed({ id, steps }: Trace): Promise<readonly McpFailure[]> {
  const tools = [...new Set(steps.map(({ tool }) => tool))];
  // MCP names allow fewer characters than the recorded ones, and none may equal a name of the gateway.
  const nameOf = (tool: string) => `tool_${tools.indexOf(tool)}`;
  let received: unknown;
  let output: Json = null;
  const make = () => {
    const server = new Server({ name: "recorded", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: tools.map((tool) => ({
        name: nameOf(tool),
        inputSchema: { type: "object" as const },
      })),
    }));
    server.setRequestHandler("tools/call", ({ params }) => {
      received = params.arguments;
      return resultFor(output) as ReturnType<typeof resultFor> & { content: [] };
    });
    return server;
  };
  const { call, client, gateway } = await startGateway([{ name: "recorded", make }]);
  const names: string[] = [];
  const failures: McpFailure[] = [];
  for (const [index, step] of steps.entries()) {
    const sources = step.refs.map((reference) => sourceOf(reference, steps, names));
    // The input of every recorded step is an object.
    const input = writtenWith(step, sources) as JsonObject;
    [received, output] = [undefined, step.output];
    const result = await call(nameOf(step.tool), input);
    if (!isDeepStrictEqual(received, step.expect)) {
      failures.push({ id, step: index, expected: step.expect, actual: received ?? textIn(result) });
    }
    if (result.isError === true) break;
    names.push(nameIn(result));
  }
  await client.close();
  await gateway.close();
  return failures;
}
